// Verdicts as FlashInfer-Bench Traces. Their format has no status for cheating and wants a time for
// every pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "task/trace.h"

namespace kw::task {
namespace {

// Their reader takes plain JSON numbers only; extra says where the real value was not finite.
double finite(double value) {
  return std::isfinite(value) ? std::abs(value) : std::numeric_limits<double>::max();
}

std::optional<TraceStatus> status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return TraceStatus::kPassed;
    case Outcome::kCompileError:
      return TraceStatus::kCompileError;
    case Outcome::kWrongShape:
      return TraceStatus::kIncorrectShape;
    case Outcome::kWrongDtype:
      return TraceStatus::kIncorrectDtype;
    case Outcome::kWrongValue:
      return TraceStatus::kIncorrectNumerical;
    case Outcome::kTimeout:
      return TraceStatus::kTimeout;
    case Outcome::kRuntimeError:
    case Outcome::kMemoryLimit:
    case Outcome::kOutputLimit:
    case Outcome::kViolation:
      return TraceStatus::kRuntimeError;
    case Outcome::kQuarantined:
    case Outcome::kUnsupported:
    case Outcome::kNoisy:
      return std::nullopt;
  }
  return std::nullopt;
}

TraceCorrectness correctness_of(const WorkloadVerdict& workload) {
  TraceCorrectness out;
  double of_budget = 0;
  bool all_finite = true;
  for (const OutputError& error : workload.errors) {
    out.max_relative_error = std::max(out.max_relative_error, finite(error.max_relative));
    out.max_absolute_error = std::max(out.max_absolute_error, finite(error.max_absolute));
    of_budget = std::max(of_budget, finite(error.max_of_budget));
    all_finite =
        all_finite && std::isfinite(error.max_relative) && std::isfinite(error.max_absolute);
  }
  out.extra = {{"kernelwright",
                {{"max_of_budget", of_budget},
                 {"all_finite", all_finite},
                 {"flashinfer_status", workload.flashinfer.status}}}};
  return out;
}

std::string log_of(Outcome outcome, const std::string& violation,
                   const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  if (outcome == Outcome::kViolation) {
    out = "violation: " + violation + "\n";
  } else if (outcome != Outcome::kPassed) {
    out = std::string(to_string(outcome)) + "\n";
  }
  for (const Diagnostic& diagnostic : diagnostics)
    out += diagnostic.kind + ": " + diagnostic.message + "\n";
  return out.size() <= Evaluation::kMaxLog ? out : printable(out, Evaluation::kMaxLog - 3);
}

std::optional<Evaluation> evaluation_of(const Verdict& verdict, const WorkloadVerdict& workload) {
  bool cheated = verdict.outcome == Outcome::kViolation;
  Outcome outcome = cheated ? Outcome::kViolation : workload.outcome;
  auto status = status_of(outcome);
  if (!status || (status == TraceStatus::kPassed && !workload.times)) return std::nullopt;
  Evaluation out;
  out.status = *status;
  std::vector<Diagnostic> diagnostics = verdict.diagnostics;
  diagnostics.insert(diagnostics.end(), workload.diagnostics.begin(), workload.diagnostics.end());
  out.log = log_of(outcome, cheated ? verdict.violation : workload.violation, diagnostics);
  if (outcome == Outcome::kPassed || outcome == Outcome::kWrongValue)
    out.correctness = correctness_of(workload);
  if (outcome == Outcome::kPassed && workload.times) {
    const Times& times = *workload.times;
    double ratio = times.candidate_ms > 0 ? times.reference_ms / times.candidate_ms : 0;
    out.performance = {times.candidate_ms, times.reference_ms,
                       workload.speedup ? workload.speedup->median : ratio};
  }
  return out;
}

}  // namespace

std::vector<Trace> traces_of(const Verdict& verdict, const Problem& problem,
                             const TraceEnvironment& environment, const std::string& timestamp) {
  std::vector<Trace> out;
  WorkloadVerdict whole;  // stands for each workload of a candidate that never got to run
  whole.outcome = verdict.outcome;
  whole.violation = verdict.violation;
  for (const Workload& workload : problem.workloads) {
    auto judged = std::find_if(verdict.workloads.begin(), verdict.workloads.end(),
                               [&](const WorkloadVerdict& w) { return w.uuid == workload.uuid; });
    if (judged == verdict.workloads.end() && !verdict.workloads.empty()) continue;
    auto evaluation = evaluation_of(verdict, verdict.workloads.empty() ? whole : *judged);
    if (!evaluation) continue;
    evaluation->environment = environment;
    evaluation->timestamp = timestamp;
    out.push_back({problem.name, workload, verdict.candidate_name, std::move(evaluation)});
  }
  return out;
}

}  // namespace kw::task
