// FlashInfer-Bench's Trace lines: one a workload, so a solution's are put together.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/json_lines.h"
#include "report/readers.h"
#include "task/trace.h"

namespace kw::report {
namespace {

struct Solution {
  std::string name;
  std::map<std::string, task::Evaluation> evaluations;  // by workload
};

struct Definition {
  std::map<std::string, bool> workloads;  // all that stand in the file
  std::vector<Solution> solutions;

  Solution& solution(const std::string& name) {
    for (Solution& known : solutions) {
      if (known.name == name) return known;
    }
    return solutions.emplace_back(Solution{name, {}});
  }
};

// The export of a violation is RUNTIME_ERROR with the class in the log's first line.
constexpr std::string_view kViolation = "violation: ";

task::Outcome outcome_of(const task::Evaluation& evaluation) {
  switch (evaluation.status) {
    case task::TraceStatus::kPassed:
      return task::Outcome::kPassed;
    case task::TraceStatus::kIncorrectShape:
      return task::Outcome::kWrongShape;
    case task::TraceStatus::kIncorrectNumerical:
      return task::Outcome::kWrongValue;
    case task::TraceStatus::kIncorrectDtype:
      return task::Outcome::kWrongDtype;
    case task::TraceStatus::kRuntimeError:
      return evaluation.log.starts_with(kViolation) ? task::Outcome::kViolation
                                                    : task::Outcome::kRuntimeError;
    case task::TraceStatus::kCompileError:
      return task::Outcome::kCompileError;
    case task::TraceStatus::kTimeout:
      return task::Outcome::kTimeout;
  }
  return task::Outcome::kRuntimeError;
}

Attempt attempt_of(const Solution& solution, std::size_t workloads) {
  Attempt out;
  out.proposer = solution.name;
  task::Outcome worst = task::Outcome::kPassed;
  double logs = 0;
  for (const auto& [uuid, evaluation] : solution.evaluations) {
    task::Outcome outcome = outcome_of(evaluation);
    if (severity(outcome) > severity(worst)) worst = outcome;
    if (outcome == task::Outcome::kViolation && out.violation.empty()) {
      std::string line = split(evaluation.log, '\n').front();
      out.violation = line.substr(kViolation.size());
    }
    if (outcome != task::Outcome::kPassed && !evaluation.log.empty())
      out.diagnostics.push_back({"log", evaluation.log});
    if (evaluation.performance) logs += std::log(evaluation.performance->speedup_factor);
  }
  out.progress = task::progress_of(worst);
  out.outcome = std::string(to_string(worst));
  if (worst != task::Outcome::kPassed) return out;
  auto judged = solution.evaluations.size();
  if (judged < workloads) {
    out.progress = task::Progress::kRightShape;
    out.outcome = "not_all_workloads";
  } else if (std::isfinite(logs)) {  // a factor of 0 is no time
    out.speedup = Speedup{std::exp(logs / static_cast<double>(judged)), {}, {}};
  }
  return out;
}

// For each workload the largest speedup of a solution that is correct on it.
std::vector<double> best_by_workload(const Definition& definition) {
  std::vector<double> out;
  for (const auto& [uuid, there] : definition.workloads) {
    double best = 0;
    for (const Solution& solution : definition.solutions) {
      auto found = solution.evaluations.find(uuid);
      if (found == solution.evaluations.end()) continue;
      const auto& performance = found->second.performance;
      if (performance && outcome_of(found->second) == task::Outcome::kPassed)
        best = std::max(best, performance->speedup_factor);
    }
    out.push_back(best);
  }
  return out;
}

}  // namespace

Result<Run> read_traces(const std::filesystem::path& file) {
  Run run;
  run.kind = "traces";
  run.baseline = "reference";
  ProblemList problems(run);
  std::map<std::string, Definition> definitions;
  KW_TRY(LinesRead lines, read_json_lines(file, [&](const Json& line) -> Status {
           KW_TRY(task::Trace trace, task::trace_from_json(line, ""));
           problems.at(trace.definition, "");
           Definition& definition = definitions[trace.definition];
           definition.workloads[trace.workload.uuid] = true;
           if (!trace.solution || !trace.evaluation) return {};
           if (run.hardware.empty()) run.hardware = trace.evaluation->environment.hardware;
           definition.solution(*trace.solution).evaluations[trace.workload.uuid] =
               std::move(*trace.evaluation);
           return {};
         }));
  if (lines.cut) run.notes.emplace_back("the last line is cut and was left out");
  for (ProblemRecord& problem : run.problems) {
    const Definition& definition = definitions[problem.name];
    problem.workloads = best_by_workload(definition);
    for (const Solution& solution : definition.solutions) {
      problem.attempts.push_back(attempt_of(solution, definition.workloads.size()));
      problem.attempts.back().id = std::to_string(problem.attempts.size() - 1);
    }
  }
  run.notes.emplace_back(
      "traces have no intervals and no untimed passes; judge with --out and the verdicts beside "
      "them are read instead");
  return run;
}

}  // namespace kw::report
