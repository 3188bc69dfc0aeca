// From many cores on, a GPU is timed by itself: compilers run beside it, and so do other GPUs. With
// few cores the host's launches are late when anything else runs, so the CPU's lock is held.
#include "gym/supervisor/gpu_workshop.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <unistd.h>

#include "cuda/library.h"
#include "gym/cuda/kernel_runner.h"
#include "os/memory.h"

namespace kw::gym {
namespace {

constexpr std::uint64_t kShare = 4;  // of memory, for sessions that wait for their next candidate
constexpr double kJudged = 0.7;      // of a GPU's memory, for evaluations
// A session has up to four contexts on the GPU. To make one takes 0.1 s on an empty H200, 0.3 s
// beside 24 idle ones and 0.6 s beside 72, and they are made one after the other.
constexpr std::size_t kMaxIdleSessions = 16;
constexpr std::size_t kSpareCompilers = 1;
constexpr std::size_t kManyCores = 8;  // for each GPU

std::uint64_t host_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Invalid without NVRTC: then the checker draws and compares on the host.
Result<os::UniqueFd> kernels_for(const cuda::DeviceFacts& gpu,
                                 const std::filesystem::path& folder) {
  auto code = compile_kernels(gpu.architecture(), folder);
  if (!code && code.error().code() == ErrorCode::kUnsupported) return os::UniqueFd();
  if (!code) return tl::unexpected(std::move(code).error());
  return os::make_sealed_file("kernels", *code);
}

}  // namespace

std::string resource_of(const cuda::DeviceFacts& gpu, std::size_t gpus, std::size_t cores) {
  return cores >= kManyCores * gpus ? fmt::format("gpu{}", gpu.place)
                                    : std::string(TimingLock::kCpu);
}

TimedPlace timed_place(const cuda::DeviceFacts& gpu, std::string_view resource) {
  return resource == TimingLock::kCpu ? TimedPlace{} : TimedPlace{gpu.place, gpu.places};
}

GpuWorkshop::GpuWorkshop(Programs found, const cuda::DeviceFacts& gpu, std::uint64_t session_bytes)
    : programs(std::move(found)),
      facts(gpu),
      gate(static_cast<std::uint64_t>(kJudged * static_cast<double>(gpu.memory_bytes))),
      sessions(session_bytes, kMaxIdleSessions) {}

ProblemSession::Context GpuWorkshop::context(std::optional<int> device) const {
  const auto start = [this](CheckerProcess::Options options) {
    options.kernels = kernels.valid() ? kernels.get() : -1;
    return CheckerProcess::start(options);
  };
  return {
      &programs, roles.get(), lease.get(), start, device, timed_on, timed_place(facts, timed_on)};
}

Result<std::unique_ptr<GpuWorkshop>> GpuWorkshop::make(const GymOptions& options,
                                                       const cuda::DeviceFacts& gpu,
                                                       std::size_t gpus) {
  KW_TRY(Programs programs, find_programs(options));
  std::unique_ptr<GpuWorkshop> shop(new GpuWorkshop(
      std::move(programs), gpu, std::min(host_memory() / gpus, gpu.memory_bytes) / kShare));
  KW_TRY(shop->launchers, Launchers::start(shop->programs, options.isolation_at_least));
  shop->roles = std::make_unique<Roles>(*shop->launchers, shop->programs);
  KW_TRY(shop->kernels, kernels_for(gpu, options.cache_folder / "kernels"));
  shop->timed_on = resource_of(gpu, gpus, std::thread::hardware_concurrency());
  const bool has_cores = shop->timed_on != TimingLock::kCpu;
  KW_TRY(TimingLock lock, TimingLock::open(shop->timed_on));
  Sandboxes& to_stop = has_cores ? static_cast<Sandboxes&>(shop->on_the_gpu) : *shop->launchers;
  shop->lease = std::make_unique<HostLease>(std::move(lock), to_stop, options.background);
  const std::filesystem::path builds = options.cache_folder / "builds";
  shop->builder =
      std::make_unique<CandidateBuilder>(shop->programs, *shop->roles, *shop->lease, builds);
  shop->plans = std::make_unique<DeviceBuilder>(
      *shop->roles, *shop->lease, resolve_cuda(cuda::cuda_library_folders()),
      DeviceBuilderOptions{gpu.architecture(), builds, kSpareCompilers});
  shop->bench = std::make_unique<CudaBench>(shop->on_gpu(), *shop->builder, *shop->plans,
                                            gpu.compute_capability);
  return shop;
}

}  // namespace kw::gym
