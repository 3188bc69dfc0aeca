// GpuWorkshop: all that judges on one GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cuda/device_facts.h"
#include "gym/evaluation/session_pool.h"
#include "gym/gym.h"
#include "gym/supervisor/cuda_bench.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/memory_gate.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"

namespace kw::gym {

// The sandboxes to stop while calls on a GPU are timed: none. Calls are timed on the GPU, and what
// uses it (oracles, executors) does so in a turn or under the lease.
class OnTheGpu final : public Sandboxes {
 public:
  Status freeze_others(const std::vector<const sandbox::Sandbox*>& /*keep_running*/) override {
    return {};
  }
  Status thaw_others() override { return {}; }
};

// The resource that measurements on a GPU lease, on a machine with so many GPUs and cores: the GPU
// alone, or the CPU with it where too few cores would launch late beside other work.
std::string resource_of(const cuda::DeviceFacts& gpu, std::size_t gpus, std::size_t cores);

// Says whose cores its executors have: those that hold the CPU's lock take turns on the same ones.
TimedPlace timed_place(const cuda::DeviceFacts& gpu, std::string_view resource);

// Members end in the opposite order.
struct GpuWorkshop {
  // gpus: how many the machine's host memory and cores are shared among.
  static Result<std::unique_ptr<GpuWorkshop>> make(const GymOptions& options,
                                                   const cuda::DeviceFacts& gpu, std::size_t gpus);
  // Sessions run on the GPU, or on the host.
  ProblemSession::Context on_gpu() const { return context(facts.number); }
  ProblemSession::Context on_host() const { return context(std::nullopt); }

  const Programs programs;
  const cuda::DeviceFacts facts;
  os::UniqueFd kernels;  // the checker's, as a sealed file; invalid without NVRTC
  std::unique_ptr<Launchers> launchers;
  std::unique_ptr<Roles> roles;
  OnTheGpu on_the_gpu;
  std::string timed_on;  // the lease's resource
  std::unique_ptr<HostLease> lease;
  std::unique_ptr<CandidateBuilder> builder;
  std::unique_ptr<DeviceBuilder> plans;
  std::unique_ptr<Bench> bench;
  MemoryGate gate;
  SessionPool sessions;  // last: sessions end before the launchers do

 private:
  GpuWorkshop(Programs found, const cuda::DeviceFacts& gpu, std::uint64_t session_bytes);
  ProblemSession::Context context(std::optional<int> device) const;
};

}  // namespace kw::gym
