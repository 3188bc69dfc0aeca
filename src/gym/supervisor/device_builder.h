// DeviceBuilder: from a device-only candidate (cuda, ptx, cubin) to a launch plan and its machine
// code, through the compiler role and the build cache.
//
// Loading NVRTC and its first compilation take longer than a kernel does. So compilers are started
// ahead ("spares"): each has NVRTC loaded, waits for one request, and is killed after it, because
// it has then read a candidate's sources. While a resource is leased for timing, spares are frozen
// as all other sandboxes are.
#pragma once
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "gym/compile/build_cache.h"
#include "gym/compile/compile.h"
#include "gym/compile/cuda_toolchain.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/roles.h"
#include "os/fd.h"
#include "task/candidate.h"
#include "task/launch_plan.h"
#include "task/signature.h"

namespace kw::gym {

struct DeviceBuild {
  std::optional<task::LaunchPlan> plan;  // nullopt: the candidate is at fault
  os::UniqueFd cubin;                    // module 0 of the plan, sealed
  std::string mistake;                   // says to the candidate's author why there is no plan
  bool cached = false;
  double wall_ms = 0;
};

struct DeviceBuilderOptions {
  std::string architecture;            // "sm_90a"
  std::filesystem::path cache_folder;  // of builds
  std::size_t spares = 0;              // compilers that wait
};

// Thread-safe.
class DeviceBuilder {
 public:
  // Borrows roles, and the lease, which freezes compilers. toolchain: an error is told to every
  // candidate that needs a compiler.
  DeviceBuilder(Roles& roles, const HostLease& lease, Result<CudaToolchain> toolchain,
                DeviceBuilderOptions options);

  // One build serves all values of the variable axes. kUnsupported without the language's
  // compiler.
  Result<DeviceBuild> build(const task::Candidate& candidate, const task::Signature& signature);

  // The file of the compiler: "libnvrtc.so.13", "nvcc"; empty: none.
  std::string compiler() const;

  // Starts the spares that are missing. build() has it done by a thread after it has compiled.
  Status fill();

 private:
  Result<RunningRole> take(bool can_be_spare);
  Result<BuildOutcome> compile(const CompilePlan& plan);
  void refill();

  Roles& roles_;
  const HostLease& lease_;
  const Result<CudaToolchain> toolchain_;
  const DeviceBuilderOptions options_;
  BuildCache cache_;
  std::mutex mutex_;  // guards spares_
  std::vector<RunningRole> spares_;
  std::mutex refill_mutex_;  // guards refill_
  std::jthread refill_;      // last: ends before what it uses
};

}  // namespace kw::gym
