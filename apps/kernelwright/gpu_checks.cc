// Words for a GPU's facts and state.
#include "kernelwright/gpu_checks.h"

#include <utility>

#include "base/text.h"

namespace kw::front {
namespace {

using sandbox::HealthCheck;
using State = HealthCheck::State;

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string hardware(const cuda::DeviceFacts& gpu) {
  return fmt::format("{}: compute capability {}.{}, {} multiprocessors, {:.1f} GiB, cache {} MiB",
                     gpu.name, gpu.compute_capability / 10, gpu.compute_capability % 10,
                     gpu.multiprocessors, static_cast<double>(gpu.memory_bytes) / kGiB,
                     gpu.l2_bytes >> 20U);
}

HealthCheck users_of(const cuda::DeviceState& state) {
  if (state.users.empty())
    return {"  users", State::kOk,
            fmt::format("no other process, {:.1f} GiB in use",
                        static_cast<double>(state.used_bytes) / kGiB),
            ""};
  std::vector<std::string> names;
  for (const cuda::DeviceUser& user : state.users)
    names.push_back(fmt::format("process {} ({:.1f} GiB)", user.pid,
                                static_cast<double>(user.memory_bytes) / kGiB));
  return {"  users", State::kWarn, join(names, ", "),
          "running kernels take turns of about 2 ms with theirs: times are not to be trusted"};
}

HealthCheck clock_of(const cuda::DeviceState& state) {
  const std::string slowed = cuda::throttle_text(state.throttle_reasons);
  const std::string now =
      fmt::format("{} MHz now, {} at most", state.sm_clock_mhz, state.max_sm_clock_mhz);
  if (slowed.empty()) return {"  clock", State::kOk, now, ""};
  return {"  clock", State::kWarn, now + ", slowed down: " + slowed,
          "absolute times change; both sides of a measurement change alike"};
}

HealthCheck reach_of(const cuda::DeviceFacts& gpu) {
  if (!gpu.reaches_host_memory)
    return {"  host memory", State::kOk, "kernels reach what the driver maps for them", ""};
  return {"  host memory", State::kWarn,
          "kernels reach all memory of their process on the host (HMM or ATS)",
          "a kernel may write its executor's page: a forged time must still agree with the "
          "checker's clock"};
}

}  // namespace

std::vector<HealthCheck> gpu_checks(const Result<std::vector<cuda::DeviceFacts>>& gpus,
                                    const GpuState& state_of) {
  if (!gpus)
    return {{"GPU", State::kMissing, gpus.error().message(),
             "candidates in cuda, ptx and cubin cannot be judged here"}};
  std::vector<HealthCheck> out;
  for (const cuda::DeviceFacts& gpu : *gpus) {
    out.push_back({fmt::format("GPU {}", gpu.number), State::kOk, hardware(gpu), ""});
    const std::string version =
        fmt::format("CUDA {}.{}", gpu.driver_version / 1000, gpu.driver_version % 1000 / 10);
    const auto state = state_of(gpu.place);
    if (!state) {
      out.push_back({"  driver", State::kOk, version, ""});
      out.push_back({"  users", State::kWarn, state.error().message(),
                     "nobody can tell who else uses the GPU, or whether it is slowed down"});
    } else {
      out.push_back({"  driver", State::kOk, state->driver + ", " + version, ""});
      out.push_back(users_of(*state));
      out.push_back(clock_of(*state));
    }
    out.push_back(reach_of(gpu));
  }
  return out;
}

}  // namespace kw::front
