#include "gym/supervisor/cpu_bench.h"

namespace kw::gym {
namespace {

class CpuSession : public HostSession {
 public:
  using HostSession::HostSession;

  // KernelBench may accept what we reject, so its trials run after any verdict but those where a
  // candidate would only take its time or memory once more.
  Status complete(Program& candidate, WorkloadReport& report,
                  const Completion& completion) override {
    if (!problem().is_module) return {};
    using task::Outcome;
    const Outcome outcome = report.outcome;
    const bool hopeless = outcome == Outcome::kTimeout || outcome == Outcome::kMemoryLimit ||
                          outcome == Outcome::kOutputLimit || outcome == Outcome::kUnsupported;
    bool correct = false;
    if (!hopeless) {
      completion.enter("compat");
      KW_TRY(correct, session().passes_kernelbench(static_cast<HostProgram&>(candidate).executable,
                                                   completion.stop));
    }
    report.kernelbench = {.compiled = true, .correctness = correct};
    return {};
  }
};

}  // namespace

std::unique_ptr<BenchSession> CpuBench::session(std::unique_ptr<ProblemSession> opened,
                                                CandidateBuilder& builder,
                                                SessionProblem problem) const {
  return std::make_unique<CpuSession>(std::move(opened), builder, std::move(problem));
}

}  // namespace kw::gym
