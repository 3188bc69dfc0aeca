// A gym for tests: the verdict stands in the candidate's source, after "verdict:", as
// "passed 2.5", "borderline 2.5", "wrong_value 7" (its error), "compile_error", "noisy", ...
#pragma once
#include <functional>
#include <sstream>
#include <string>

#include "gym/testing/fake_judge.h"

namespace kw::search {

// The verdict that stands in the candidate's source.
inline Result<task::Verdict> scripted_verdict(const gym::EvalRequest& request) {
  const std::string& source = request.candidate.sources.at(0).content;
  const std::size_t at = source.find("verdict:");
  if (at == std::string::npos) return fail(ErrorCode::kInternal, "no verdict in {}", source);
  std::istringstream words(source.substr(at + 8));
  std::string outcome;
  double number = 0;
  words >> outcome >> number;
  const bool is_borderline = outcome == "borderline";
  if (is_borderline) outcome = "passed";
  task::Verdict out;
  out.problem_name = request.problem.name;
  out.problem_hash = request.problem.hash;
  out.candidate_name = request.candidate.name;
  out.candidate_hash = request.candidate.hash;
  out.language = "cpp";
  out.outcome = task::outcome_from_string(outcome).value();
  if (out.outcome == task::Outcome::kViolation) out.violation = "input_write";
  task::WorkloadVerdict workload;
  workload.uuid = "w";
  workload.outcome = out.outcome;
  workload.violation = out.violation;
  if (out.outcome == task::Outcome::kPassed) {
    out.kernelbench = {true, true, 1};
    if (number > 0) out.speedup = task::Speedup{number, number * 0.9, number * 1.1};
    workload.speedup = out.speedup;
  }
  if (is_borderline) {
    workload.errors = {{"y", 1, 1, 1.03, 1}};
    workload.borderline = task::Borderline{1.03, {0.97, 1.02}};
  }
  if (out.outcome == task::Outcome::kWrongValue) workload.errors = {{"y", 1, 1, number, 1}};
  if (out.outcome == task::Outcome::kQuarantined) out.diagnostics = {{"hint", "zeros pass"}};
  out.workloads = {workload};
  return out;
}

class ScriptedJudge : public gym::FakeJudge {
 public:
  ScriptedJudge() {
    on_judge = [this](const gym::EvalRequest& request,
                      const std::stop_token&) -> Result<task::Verdict> {
      if (before_judge) KW_TRY_STATUS(before_judge(request));
      return scripted_verdict(request);
    };
  }
  std::function<Status(const gym::EvalRequest&)> before_judge;
};

}  // namespace kw::search
