// The target "cuda": its bench, and what that needs, made by the first judgement.
#include "gym/supervisor/cuda_target.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "cuda/library.h"
#include "gym/cuda/kernel_runner.h"
#include "gym/evaluation/evaluation.h"
#include "gym/supervisor/check_problem.h"
#include "gym/supervisor/cuda_bench.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/memory_gate.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "os/file.h"
#include "os/memory.h"
#include "task/target.h"

namespace kw::gym {
namespace {

constexpr int kDevice = 0;           // the first GPU that the driver shows
constexpr std::uint64_t kShare = 4;  // of memory, for sessions that wait for their next candidate
constexpr double kJudged = 0.7;      // of a GPU's memory, for evaluations
constexpr std::size_t kSpareCompilers = 1;
// From so many cores on, compilers run beside a measurement.
constexpr unsigned kManyCores = 8;

// The sandboxes to stop while calls on a GPU are timed: none. Calls are timed on the GPU, and what
// uses it (oracles, executors) does so in a turn or under the lease.
class OnTheGpu final : public Sandboxes {
 public:
  Status freeze_others(const std::vector<const sandbox::Sandbox*>& /*keep_running*/) override {
    return {};
  }
  Status thaw_others() override { return {}; }
};

// The remedy first: a verdict shows the first 200 characters.
std::string no_gpu(const Error& why) {
  return fmt::format(
      "a GPU: judge it on a machine with an NVIDIA GPU and its driver (kernelwright doctor shows "
      "what is missing here: {})",
      why.message());
}

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

// All that judges; members end in the opposite order.
struct Workshop {
  Workshop(Programs found, std::uint64_t session_bytes, std::uint64_t gpu_bytes)
      : programs(std::move(found)),
        device_bytes(gpu_bytes),
        gate(static_cast<std::uint64_t>(kJudged * static_cast<double>(gpu_bytes))),
        sessions(session_bytes) {}

  ProblemSession::Context context(std::optional<int> device) {
    const auto start = [this](CheckerProcess::Options options) {
      options.kernels = kernels.valid() ? kernels.get() : -1;
      return CheckerProcess::start(options);
    };
    return {&programs, roles.get(), lease.get(), start, device};
  }

  Programs programs;
  os::UniqueFd kernels;  // the checker's, as a sealed file
  std::unique_ptr<Launchers> launchers;
  std::unique_ptr<Roles> roles;
  OnTheGpu on_the_gpu;
  std::unique_ptr<HostLease> lease;
  std::unique_ptr<CandidateBuilder> builder;
  std::unique_ptr<DeviceBuilder> plans;
  std::unique_ptr<Bench> bench;
  std::uint64_t device_bytes;
  MemoryGate gate;
  SessionPool sessions;  // last: sessions end before the launchers do
};

class CudaTarget : public Target {
 public:
  CudaTarget(GymOptions options, FindGpus find)
      : options_(std::move(options)),
        find_(std::move(find)),
        admissions_(options_.cache_folder / "admission") {}

  std::string name() const override { return "cuda"; }
  Capabilities capabilities() const override;
  Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) override;
  std::string session_key(const EvalRequest& request) const override {
    std::lock_guard lock(mutex_);
    return workshop_ == nullptr ? std::string() : first_session_key(*workshop_->bench, request);
  }
  bool is_open(const std::string& session_key) const override {
    std::lock_guard lock(mutex_);
    return workshop_ != nullptr && workshop_->sessions.contains(session_key);
  }
  Result<task::Signature> describe(const task::Problem& problem) override;
  // Nothing of a candidate runs: the host's memory will do.
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    KW_TRY(Workshop * workshop, open_workshop());
    return check_problem(workshop->context(std::nullopt), admissions_, request, stop);
  }

 private:
  Result<Workshop*> open_workshop() const;
  Result<std::unique_ptr<Workshop>> make_workshop(const cuda::DeviceFacts& gpu) const;
  EvaluationParts parts(Workshop& workshop) const {
    return {*workshop.bench, admissions_, workshop.sessions, options_.evidence_folder,
            [this](const EvalRequest& request, std::string_view stage) {
              if (options_.progress != nullptr) options_.progress->stage(request, stage);
            }};
  }

  GymOptions options_;
  FindGpus find_;
  AdmissionCache admissions_;
  mutable std::mutex mutex_;  // guards workshop_
  mutable std::unique_ptr<Workshop> workshop_;
};

// kUnsupported: there is no GPU.
Result<Workshop*> CudaTarget::open_workshop() const {
  std::lock_guard lock(mutex_);
  if (workshop_ == nullptr) {
    auto gpus = find_();
    if (!gpus) return fail(ErrorCode::kUnsupported, "{}", no_gpu(gpus.error()));
    KW_TRY(workshop_, make_workshop(gpus->at(kDevice)));
  }
  return workshop_.get();
}

Result<std::unique_ptr<Workshop>> CudaTarget::make_workshop(const cuda::DeviceFacts& gpu) const {
  KW_TRY(Programs programs, find_programs(options_));
  auto shop = std::make_unique<Workshop>(
      std::move(programs), std::min(host_memory(), gpu.memory_bytes) / kShare, gpu.memory_bytes);
  KW_TRY(shop->launchers, Launchers::start(shop->programs, options_.isolation_at_least));
  shop->roles = std::make_unique<Roles>(*shop->launchers, shop->programs);
  KW_TRY(shop->kernels, kernels_for(gpu, options_.cache_folder / "kernels"));
  KW_TRY(TimingLock lock, TimingLock::open());
  const bool has_cores = std::thread::hardware_concurrency() >= kManyCores;
  Sandboxes& to_stop = has_cores ? static_cast<Sandboxes&>(shop->on_the_gpu) : *shop->launchers;
  shop->lease = std::make_unique<HostLease>(std::move(lock), to_stop, options_.background);
  const std::filesystem::path builds = options_.cache_folder / "builds";
  shop->builder =
      std::make_unique<CandidateBuilder>(shop->programs, *shop->roles, *shop->lease, builds);
  shop->plans = std::make_unique<DeviceBuilder>(
      *shop->roles, *shop->lease, resolve_cuda(cuda::cuda_library_folders()),
      DeviceBuilderOptions{gpu.architecture(), builds, kSpareCompilers});
  shop->bench = std::make_unique<CudaBench>(shop->context(kDevice), *shop->builder, *shop->plans,
                                            gpu.compute_capability);
  return shop;
}

Capabilities CudaTarget::capabilities() const {
  Capabilities c;
  auto workshop = open_workshop();
  if (!workshop) {
    c.why_not = workshop.error().message();
    return c;
  }
  const Programs& programs = (*workshop)->programs;
  c.available = !programs.python.empty() && !programs.gpu_executor.empty();
  if (programs.python.empty()) c.why_not = "no Python with torch: references cannot run";
  if (programs.gpu_executor.empty())
    c.why_not = "kernelwright-gpu-executor is not built: run ./kernelwright once";
  c.isolation = (*workshop)->launchers->level() >= sandbox::Level::kNamespaces;
  c.freeze = true;  // nothing needs it: no host code of a candidate runs between calls
  c.clock = true;
  c.languages = {"cuda", "ptx", "cubin"};
  const auto hosted = (*workshop)->builder->languages();
  if (std::ranges::find(hosted, "triton") != hosted.end()) c.languages.emplace_back("triton");
  return c;
}

Result<task::Verdict> CudaTarget::judge(const EvalRequest& request, std::stop_token stop) {
  const task::Candidate& candidate = request.candidate;
  if (!task::route(candidate.language, task::Target::kCuda))
    return unsupported(request, "language " + std::string(task::to_string(candidate.language)),
                       options_.evidence_folder);
  if (!candidate.binding.empty())
    return unsupported(request, "binding " + candidate.binding, options_.evidence_folder);
  auto workshop = open_workshop();
  if (!workshop && workshop.error().code() == ErrorCode::kUnsupported)
    return unsupported(request, workshop.error().message(), options_.evidence_folder);
  if (!workshop) return tl::unexpected(std::move(workshop).error());
  Workshop& shop = **workshop;
  KW_TRY(const MemoryGate::Pass inside,
         shop.gate.enter(device_bytes_of(request.problem, shop.device_bytes), stop));
  return evaluate(parts(shop), request, stop);
}

Result<task::Signature> CudaTarget::describe(const task::Problem& problem) {
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.name);
  if (!problem.is_module())
    return task::signature_of(problem.definition(), problem.workloads.front(),
                              problem.policy.statics);
  KW_TRY(Workshop * workshop, open_workshop());
  return describe_module(parts(*workshop), problem);
}

}  // namespace

std::unique_ptr<Target> make_cuda_target(GymOptions options, FindGpus find) {
  if (options.cache_folder.empty()) options.cache_folder = os::cache_home();
  if (options.evidence_folder.empty()) options.evidence_folder = os::data_home() / "evidence";
  return std::make_unique<CudaTarget>(std::move(options), std::move(find));
}

}  // namespace kw::gym
