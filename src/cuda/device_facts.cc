// Attributes from the driver, the rest from NVML, which is declared here as far as it is called.
#include "cuda/device_facts.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "cuda/driver_api.h"
#include "cuda/library.h"

namespace kw::cuda {
namespace {

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {  // nvmlProcessInfo_v2
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
constexpr int kSmClock = 1;
constexpr unsigned kMaxUsers = 64;

struct NvmlApi {
  int (*init)();
  int (*driver_version)(char*, unsigned);
  int (*count)(unsigned*);
  int (*device)(unsigned, NvmlDevice*);
  int (*device_on_bus)(const char*, NvmlDevice*);
  int (*index)(NvmlDevice, unsigned*);
  int (*memory)(NvmlDevice, NvmlMemory*);
  int (*processes)(NvmlDevice, unsigned*, NvmlProcess*);
  int (*clock)(NvmlDevice, int, unsigned*);
  int (*max_clock)(NvmlDevice, int, unsigned*);
  int (*throttle_reasons)(NvmlDevice, unsigned long long*);
};

Result<NvmlApi> load_nvml() {
  KW_TRY(Library library,
         Library::open("management library of NVIDIA's driver", {"libnvidia-ml.so.1"}));
  NvmlApi api{};
  KW_TRY_STATUS(library.find("nvmlInit_v2", api.init));
  KW_TRY_STATUS(library.find("nvmlSystemGetDriverVersion", api.driver_version));
  KW_TRY_STATUS(library.find("nvmlDeviceGetCount_v2", api.count));
  KW_TRY_STATUS(library.find("nvmlDeviceGetHandleByIndex_v2", api.device));
  KW_TRY_STATUS(library.find("nvmlDeviceGetHandleByPciBusId_v2", api.device_on_bus));
  KW_TRY_STATUS(library.find("nvmlDeviceGetIndex", api.index));
  KW_TRY_STATUS(library.find("nvmlDeviceGetMemoryInfo", api.memory));
  KW_TRY_STATUS(library.find("nvmlDeviceGetComputeRunningProcesses_v3", api.processes));
  KW_TRY_STATUS(library.find("nvmlDeviceGetClockInfo", api.clock));
  KW_TRY_STATUS(library.find("nvmlDeviceGetMaxClockInfo", api.max_clock));
  KW_TRY_STATUS(library.find("nvmlDeviceGetCurrentClocksThrottleReasons", api.throttle_reasons));
  if (const int result = api.init(); result != 0)
    return fail(ErrorCode::kUnsupported, "NVML does not start (error {})", result);
  return api;
}

// CUDA counts what CUDA_VISIBLE_DEVICES leaves, the fastest first; NVML counts along the bus.
int place_of(const DriverApi& api, const NvmlApi* nvml, DeviceHandle device, int number) {
  std::array<char, 64> bus{};
  NvmlDevice found = nullptr;
  unsigned place = 0;
  const bool known =
      nvml != nullptr && api.device_bus_id(bus.data(), static_cast<int>(bus.size()), device) == 0 &&
      nvml->device_on_bus(bus.data(), &found) == 0 && nvml->index(found, &place) == 0;
  return known ? static_cast<int>(place) : number;
}

Result<DeviceFacts> facts_of(const DriverApi& api, const NvmlApi* nvml, int number) {
  DeviceFacts out;
  out.number = number;
  DeviceHandle device = 0;
  KW_TRY_STATUS(driver_status(api.device_get(&device, number), "cannot get the GPU"));
  out.place = place_of(api, nvml, device, number);
  std::array<char, 128> name{};
  KW_TRY_STATUS(driver_status(api.device_name(name.data(), static_cast<int>(name.size()), device),
                              "GPU's name"));
  out.name = name.data();
  KW_TRY_STATUS(driver_status(api.driver_version(&out.driver_version), "driver's version"));
  auto attribute = [&](DeviceAttribute which, int& value) {
    return driver_status(api.device_attribute(&value, static_cast<int>(which), device),
                         "cannot ask the GPU for an attribute");
  };
  int l2 = 0, major = 0, minor = 0, pageable = 0;
  KW_TRY_STATUS(attribute(DeviceAttribute::kMultiprocessors, out.multiprocessors));
  KW_TRY_STATUS(attribute(DeviceAttribute::kL2Bytes, l2));
  KW_TRY_STATUS(attribute(DeviceAttribute::kComputeMajor, major));
  KW_TRY_STATUS(attribute(DeviceAttribute::kComputeMinor, minor));
  KW_TRY_STATUS(attribute(DeviceAttribute::kPageableMemoryAccess, pageable));
  std::size_t memory = 0;
  KW_TRY_STATUS(driver_status(api.device_memory(&memory, device), "GPU's memory"));
  out.compute_capability = major * 10 + minor;
  out.l2_bytes = static_cast<std::uint64_t>(l2);
  out.memory_bytes = memory;
  out.reaches_host_memory = pageable != 0;
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> visibility_variables() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): never written
    if (value != nullptr) out.emplace_back(name, value);
  }
  return out;
}

std::string DeviceFacts::architecture() const {
  return fmt::format("sm_{}{}", compute_capability, compute_capability == 90 ? "a" : "");
}

Result<std::vector<DeviceFacts>> list_devices() {
  KW_TRY(const DriverApi* api, load_driver_api());
  int count = 0;
  KW_TRY_STATUS(driver_status(api->device_count(&count), "cannot count GPUs"));
  if (count == 0) return fail(ErrorCode::kUnsupported, "no GPU that CUDA can use");
  const Result<NvmlApi> nvml = load_nvml();
  unsigned all = 0;
  if (!nvml || nvml->count(&all) != 0) all = static_cast<unsigned>(count);
  std::vector<DeviceFacts> out;
  for (int number = 0; number < count; ++number) {
    KW_TRY(DeviceFacts facts, facts_of(*api, nvml ? &*nvml : nullptr, number));
    facts.places = std::max(static_cast<int>(all), facts.place + 1);
    out.push_back(std::move(facts));
  }
  return out;
}

// A field that NVML does not tell stays as it is: some need rights, or other hardware.
Result<DeviceState> device_state(int place) {
  KW_TRY(NvmlApi api, load_nvml());
  DeviceState out;
  std::array<char, 96> version{};
  if (api.driver_version(version.data(), version.size()) == 0) out.driver = version.data();
  NvmlDevice device = nullptr;
  if (const int result = api.device(static_cast<unsigned>(place), &device); result != 0)
    return fail(ErrorCode::kUnsupported, "NVML has no GPU {} (error {})", place, result);
  NvmlMemory memory{};
  if (api.memory(device, &memory) == 0) out.used_bytes = memory.used;
  std::array<NvmlProcess, kMaxUsers> processes{};
  unsigned count = kMaxUsers;
  if (api.processes(device, &count, processes.data()) == 0) {
    for (unsigned i = 0; i < count; ++i) {
      const bool known = processes[i].used_memory != ~0ULL;
      out.users.push_back({processes[i].pid, known ? processes[i].used_memory : 0});
    }
  }
  api.clock(device, kSmClock, &out.sm_clock_mhz);
  api.max_clock(device, kSmClock, &out.max_sm_clock_mhz);
  unsigned long long reasons = 0;
  if (api.throttle_reasons(device, &reasons) == 0) out.throttle_reasons = reasons;
  return out;
}

std::string throttle_text(std::uint64_t reasons) {
  struct Reason {
    std::uint64_t bits;
    const char* name;
  };
  constexpr Reason kReasons[] = {{0x4, "power cap"},
                                 {0x8 | 0x80, "hardware slowdown"},
                                 {0x10, "sync boost"},
                                 {0x20 | 0x40, "heat"},
                                 {0x100, "display clocks"}};
  std::vector<std::string> names;
  for (const Reason& reason : kReasons)
    if ((reasons & reason.bits) != 0) names.emplace_back(reason.name);
  return join(names, ", ");
}

}  // namespace kw::cuda
