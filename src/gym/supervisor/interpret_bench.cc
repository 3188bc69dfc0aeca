#include "gym/supervisor/interpret_bench.h"

#include "base/check.h"
#include "gym/supervisor/library_policy.h"

namespace kw::gym {
namespace {

constexpr double kInterpreterTimeout = 60;  // seconds a call
constexpr double kMaxRiskMs = 20'000;  // of calls, after which no more configurations are tried

class InterpretSession : public HostSession {
 public:
  using HostSession::HostSession;

  // A baseline's host code may see values.
  Result<Build> build(const task::Candidate& candidate, BuildFor side) override {
    KW_TRY(Build built, HostSession::build(candidate, side));
    if (built.program == nullptr || side == BuildFor::kBaseline) return built;
    if (auto& run = run_of(*built.program))
      run->hide_values = problem().library == task::Library::kKernelOnly;
    return built;
  }

  // Whether the candidate's own kernels did the work. The last question is: are the outputs still
  // right when the kernels write nothing? Once is enough where host code sees no values.
  Status complete(Program& candidate, WorkloadReport& report,
                  const Completion& completion) override {
    auto& run = run_of(candidate);
    if (!run) return {};
    const task::Library library = problem().library;
    apply_library_policy(report, run->build, library);
    const bool asked =
        (run->hide_values && !completion.is_first) || library == task::Library::kAnything;
    if (report.has_passed() && !asked) {
      completion.enter("kernels");
      run->drop_stores = true;
      KW_TRY(WorkloadReport without, again(candidate, completion));
      run->drop_stores = false;
      report.call_ms += without.call_ms;
      if (without.has_passed()) report_token_kernel(report);
    }
    if (!report.has_passed() || !completion.is_first) return {};
    return add_risks(candidate, report, completion);
  }

 private:
  // The same candidate once more, under the settings of its run.
  Result<WorkloadReport> again(Program& candidate, const Completion& completion) {
    return judge(candidate, completion.options, 0, completion.stop);
  }

  // Adds what the first judgement cannot tell: whether masked lanes must be zero, and
  // how many of an autotuner's other configurations are wrong.
  Status add_risks(Program& candidate, WorkloadReport& report, const Completion& completion) {
    if (!report.launches) return {};
    auto& run = run_of(candidate);
    KW_CHECK(run.has_value());
    if (report.launches->masked_lanes) {
      run->poison_masked = true;
      KW_TRY(WorkloadReport poisoned, again(candidate, completion));
      run->poison_masked = false;
      if (!poisoned.has_passed()) report_masked_zeros(report);
    }
    const std::uint32_t count = report.launches->configurations;
    ConfigurationRisk risk{count, 0, 0};
    for (std::uint32_t i : other_configurations(count)) {
      if (report.call_ms > kMaxRiskMs) break;
      run->configuration = i;
      KW_TRY(WorkloadReport one, again(candidate, completion));
      report.call_ms += one.call_ms;
      risk.tried += 1;
      risk.wrong += one.has_passed() ? 0 : 1;
    }
    report_configurations(report, risk);
    return {};
  }

  static std::optional<TritonRun>& run_of(Program& program) {
    return static_cast<HostProgram&>(program).executable.triton;
  }
};

}  // namespace

// The interpreter is slow, and no time of it means anything.
EvalOptions InterpretBench::options_here(EvalOptions options) const {
  options.timing = false;
  if (options.timeout_seconds == 0) options.timeout_seconds = kInterpreterTimeout;
  return options;
}

std::unique_ptr<BenchSession> InterpretBench::session(std::unique_ptr<ProblemSession> opened,
                                                      CandidateBuilder& builder,
                                                      SessionProblem problem) const {
  return std::make_unique<InterpretSession>(std::move(opened), builder, std::move(problem));
}

}  // namespace kw::gym
