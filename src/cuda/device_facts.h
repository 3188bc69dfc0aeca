// DeviceFacts: what a GPU is and who uses it, without a context on it.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::cuda {

// Another process with a context on the GPU.
struct DeviceUser {
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;  // 0: the driver does not say
};

struct DeviceFacts {
  int number = 0;  // as CUDA counts those that it shows this process
  // As the management library counts all that it shows; `number` where there is no such library.
  int place = 0;
  int places = 1;  // how many the machine has, as it counts
  std::string name;
  int driver_version = 0;      // of CUDA: 13000 for 13.0
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0, l2_bytes = 0;
  // Kernels can read and write all memory of their process on the host (HMM, ATS), not only what
  // the driver has mapped for them.
  bool reaches_host_memory = false;

  // Programs are compiled for it: "sm_90a" on Hopper, whose own instructions need the a.
  std::string architecture() const;
};

// Which GPUs the driver shows, and in which order, is said by variables of the environment: these
// are those of this process. Another process must have them too, or its GPU 0 may be another one.
std::vector<std::pair<std::string, std::string>> visibility_variables();

// The GPUs that CUDA's driver shows this process. kUnsupported: no driver or no GPU.
Result<std::vector<DeviceFacts>> list_devices();

// DeviceState is what the driver's management library (NVML) says about a GPU now.
struct DeviceState {
  std::string driver;  // "580.159.04"
  std::uint64_t used_bytes = 0;
  std::vector<DeviceUser> users;
  unsigned sm_clock_mhz = 0, max_sm_clock_mhz = 0;
  // Bits of nvmlClocksEventReasons: other than idle (1) and application settings (2) they slow it.
  std::uint64_t throttle_reasons = 0;
};

// place: DeviceFacts::place. kUnsupported without the library.
Result<DeviceState> device_state(int place);

// Words for throttle_reasons that slow a GPU down: "thermal, power cap"; "" for none.
std::string throttle_text(std::uint64_t reasons);

}  // namespace kw::cuda
