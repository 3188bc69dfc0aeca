// A gym for tests: the verdict stands in the candidate's source, after "verdict:", as
// "passed 2.5", "wrong_value 7" (its error), "compile_error", "noisy", ...
#pragma once
#include <atomic>
#include <functional>
#include <sstream>
#include <string>

#include "search/evaluator.h"

namespace kw::search {

class ScriptedEvaluator : public Evaluator {
 public:
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    ++judged;
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    if (on_judge) {
      if (auto status = on_judge(request); !status)
        return tl::unexpected(std::move(status).error());
    }
    const std::string& source = request.candidate.sources.at(0).content;
    const std::size_t at = source.find("verdict:");
    if (at == std::string::npos) return fail(ErrorCode::kInternal, "no verdict in {}", source);
    std::istringstream words(source.substr(at + 8));
    std::string outcome;
    double number = 0;
    words >> outcome >> number;
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
    if (out.outcome == task::Outcome::kWrongValue) workload.errors = {{"y", 1, 1, number, 1}};
    if (out.outcome == task::Outcome::kQuarantined) out.diagnostics = {{"hint", "zeros pass"}};
    out.workloads = {workload};
    return out;
  }
  Result<task::Signature> describe(const task::Problem& problem, const std::string&) override {
    if (on_describe) {
      if (auto status = on_describe(problem); !status)
        return tl::unexpected(std::move(status).error());
    }
    return task::signature_of(problem.definition(), problem.workloads.at(0));
  }

  std::function<Status(const gym::EvalRequest&)> on_judge;
  std::function<Status(const task::Problem&)> on_describe;
  std::atomic<int> judged{0};
};

}  // namespace kw::search
