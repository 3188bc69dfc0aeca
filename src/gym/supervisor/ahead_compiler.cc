#include "gym/supervisor/ahead_compiler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cuda/library.h"
#include "gym/measure/timing_lock.h"
#include "gym/supervisor/candidate_builder.h"
#include "gym/supervisor/device_builder.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "os/file.h"
#include "task/signature.h"

namespace kw::gym {
namespace {

class Compiler : public AheadCompiler {
 public:
  explicit Compiler(Programs programs) : programs_(std::move(programs)) {}

  Status start(const Options& options) {
    const std::filesystem::path builds = options.gym.cache_folder / "builds";
    KW_TRY(launchers_, Launchers::start(programs_, options.gym.isolation_at_least));
    roles_ = std::make_unique<Roles>(*launchers_, programs_);
    KW_TRY(TimingLock lock, TimingLock::open());
    lease_ = std::make_unique<HostLease>(std::move(lock), *launchers_, nullptr);
    host_ = std::make_unique<CandidateBuilder>(programs_, *roles_, *lease_, builds);
    if (!options.architecture.empty()) {
      KW_TRY(cuda_, resolve_cuda(cuda::cuda_library_folders()));
      device_.emplace(*roles_, *lease_, *cuda_,
                      DeviceBuilderOptions{options.architecture, builds, 0});
    }
    if (languages().empty())
      return fail(ErrorCode::kUnsupported, "there is nothing here that compiles");
    return {};
  }

  std::map<std::string, std::vector<std::string>> languages() const override {
    std::map<std::string, std::vector<std::string>> out;
    if (std::ranges::count(host_->languages(), "cpp") > 0) out["cpu"] = {"cpp"};
    if (cuda_ && (!cuda_->nvrtc.empty() || !cuda_->nvcc.empty())) out["cuda"].emplace_back("cuda");
    if (cuda_ && !cuda_->ptxas.empty()) out["cuda"].emplace_back("ptx");
    if (out["cuda"].empty()) out.erase("cuda");
    return out;
  }
  sandbox::Level level() const override { return launchers_->level(); }

  Result<AheadOutcome> compile(const EvalRequest& request) override {
    const task::Target target = request.options.target;
    if (request.problem.is_module()) return AheadOutcome::kNothing;
    const auto known = languages();
    const auto here = known.find(std::string(to_string(target)));
    const std::string language(to_string(request.candidate.language));
    if (here == known.end() || std::ranges::count(here->second, language) == 0)
      return AheadOutcome::kNothing;
    AheadOutcome out = AheadOutcome::kKnown;
    for (const task::Workload* workload : request.problem.workloads_for(target)) {
      KW_TRY(const task::Signature signature,
             task::signature_of(request.problem.definition(), *workload,
                                request.problem.policy.statics));
      KW_TRY(const AheadOutcome one, build(request.candidate, signature));
      if (one == AheadOutcome::kMistake) return one;
      if (one == AheadOutcome::kBuilt) out = one;
    }
    return out;
  }

 private:
  Result<AheadOutcome> build(const task::Candidate& candidate, const task::Signature& signature) {
    if (candidate.language == task::Language::kCpp) {
      KW_TRY(const HostBuild built, host_->build_cpp(candidate, signature));
      if (!built.executable) return AheadOutcome::kMistake;
      return built.cached.value_or(false) ? AheadOutcome::kKnown : AheadOutcome::kBuilt;
    }
    KW_TRY(const DeviceBuild built, device_->build(candidate, signature));
    if (!built.plan) return AheadOutcome::kMistake;
    return built.cached ? AheadOutcome::kKnown : AheadOutcome::kBuilt;
  }

  Programs programs_;
  std::unique_ptr<Launchers> launchers_;
  std::unique_ptr<Roles> roles_;
  std::unique_ptr<HostLease> lease_;
  std::unique_ptr<CandidateBuilder> host_;
  std::optional<CudaToolchain> cuda_;
  std::optional<DeviceBuilder> device_;
};

}  // namespace

std::string_view to_string(AheadOutcome outcome) {
  switch (outcome) {
    case AheadOutcome::kBuilt:
      return "built";
    case AheadOutcome::kKnown:
      return "in the cache already";
    case AheadOutcome::kMistake:
      return "does not compile";
    case AheadOutcome::kNothing:
      break;
  }
  return "nothing to compile";
}

Result<std::unique_ptr<AheadCompiler>> AheadCompiler::start(Options options) {
  if (options.gym.cache_folder.empty()) options.gym.cache_folder = os::cache_home();
  KW_TRY(Programs programs, find_programs(options.gym));
  auto out = std::make_unique<Compiler>(std::move(programs));
  KW_TRY_STATUS(out->start(options));
  return std::unique_ptr<AheadCompiler>(std::move(out));
}

}  // namespace kw::gym
