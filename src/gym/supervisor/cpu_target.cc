// The target "cpu": its two benches, and what goes to which.
#include "gym/supervisor/cpu_target.h"

#include <utility>

#include <unistd.h>

#include "gym/evaluation/evaluation.h"
#include "gym/supervisor/check_problem.h"
#include "gym/supervisor/cpu_bench.h"
#include "gym/supervisor/interpret_bench.h"
#include "gym/supervisor/launchers.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "gym/supervisor/trace_problem.h"
#include "os/file.h"
#include "task/target.h"

namespace kw::gym {
namespace {

// Sessions that wait for their next candidate may hold this share of the machine's memory.
std::uint64_t session_budget() {
  constexpr std::uint64_t kShare = 4;
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / kShare;
}

class CpuTarget : public Target {
 public:
  static Result<std::unique_ptr<Target>> start(GymOptions options, Launchers::Start start_one);

  task::Target target() const override { return task::Target::kCpu; }
  Capabilities capabilities() const override;
  Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) override;
  std::string session_key(const EvalRequest& request) const override;
  bool is_open(const std::string& session_key) const override {
    return sessions_.contains(session_key);
  }
  Result<task::Signature> describe(const task::Problem& problem) override;
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    return check_problem(context(), admissions_, request, stop);
  }
  Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop) override {
    return trace_problem(*roles_, *lease_, request, stop);
  }

 private:
  CpuTarget(GymOptions options, Programs programs)
      : options_(std::move(options)),
        programs_(std::move(programs)),
        admissions_(options_.cache_folder / "admission"),
        sessions_(session_budget()) {}

  ProblemSession::Context context() { return {&programs_, roles_.get(), lease_.get()}; }
  // nullptr: no bench here judges this language.
  Bench* bench_for(task::Language language) const {
    const auto bench = task::route(language, task::Target::kCpu);
    if (!bench) return nullptr;
    return *bench == task::Target::kInterpret ? interpreter_.get() : cpu_.get();
  }
  EvaluationParts parts(Bench& bench) const {
    return {bench, admissions_, sessions_, options_.evidence_folder,
            [this](const EvalRequest& request, std::string_view stage) {
              if (options_.progress != nullptr) options_.progress->stage(request, stage);
            }};
  }

  GymOptions options_;
  Programs programs_;
  std::unique_ptr<Launchers> launchers_;
  std::unique_ptr<Roles> roles_;
  std::unique_ptr<HostLease> lease_;
  std::unique_ptr<CandidateBuilder> builder_;
  std::unique_ptr<Bench> cpu_, interpreter_;
  AdmissionCache admissions_;
  mutable SessionPool sessions_;  // last: sessions end before the launchers do
};

Result<std::unique_ptr<Target>> CpuTarget::start(GymOptions options, Launchers::Start start_one) {
  if (options.cache_folder.empty()) options.cache_folder = os::cache_home();
  if (options.evidence_folder.empty()) options.evidence_folder = os::data_home() / "evidence";
  KW_TRY(Programs programs, find_programs(options));
  std::unique_ptr<CpuTarget> target(new CpuTarget(std::move(options), std::move(programs)));
  KW_TRY(target->launchers_,
         Launchers::start(target->programs_, target->options_.isolation_at_least,
                          std::move(start_one)));
  target->roles_ = std::make_unique<Roles>(*target->launchers_, target->programs_);
  KW_TRY(TimingLock lock, TimingLock::open());
  target->lease_ = std::make_unique<HostLease>(std::move(lock), *target->launchers_,
                                               target->options_.background);
  target->builder_ =
      std::make_unique<CandidateBuilder>(target->programs_, *target->roles_, *target->lease_,
                                         target->options_.cache_folder / "builds");
  target->cpu_ = std::make_unique<CpuBench>(target->context(), *target->builder_);
  target->interpreter_ = std::make_unique<InterpretBench>(target->context(), *target->builder_);
  return std::unique_ptr<Target>(std::move(target));
}

Capabilities CpuTarget::capabilities() const {
  Capabilities c;
  c.available = !programs_.python.empty();
  if (!c.available) c.why_not = "no Python with torch: references cannot run";
  c.isolation = launchers_->level() >= sandbox::Level::kNamespaces;
  c.freeze = launchers_->level() >= sandbox::Level::kNamespaces;
  c.clock = true;
  c.languages = builder_->languages();
  c.level = to_string(launchers_->level());
  c.made_with = cpu_->made_with();
  return c;
}

Result<task::Verdict> CpuTarget::judge(const EvalRequest& request, std::stop_token stop) {
  const task::Candidate& candidate = request.candidate;
  Bench* bench = bench_for(candidate.language);
  if (bench == nullptr)
    return unsupported(request, "language " + std::string(task::to_string(candidate.language)),
                       options_.evidence_folder);
  if (!candidate.binding.empty())
    return unsupported(request, "binding " + candidate.binding, options_.evidence_folder);
  return evaluate(parts(*bench), request, stop);
}

std::string CpuTarget::session_key(const EvalRequest& request) const {
  const Bench* bench = bench_for(request.candidate.language);
  return bench == nullptr ? std::string() : first_session_key(*bench, request);
}

Result<task::Signature> CpuTarget::describe(const task::Problem& problem) {
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.name);
  if (!problem.is_module())
    return task::signature_of(problem.definition(), problem.workloads.front(),
                              problem.policy.statics);
  return describe_module(parts(*cpu_), problem);
}

}  // namespace

Result<std::unique_ptr<Target>> make_cpu_target(GymOptions options, Launchers::Start start_one) {
  return CpuTarget::start(std::move(options), std::move(start_one));
}

}  // namespace kw::gym
