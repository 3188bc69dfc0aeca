// The judge for tests: what it answers is given as functions, and what it was asked is counted.
#pragma once
#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include "gym/judge.h"

namespace kw::gym {

// Set the functions before the first call. Without on_judge everything passes; without on_describe
// the signature is that of a definition's first workload.
class FakeJudge : public Judge {
 public:
  Result<task::Verdict> judge(EvalRequest request, std::stop_token stop) override {
    ++judged;
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    if (on_judge) return on_judge(request, stop);
    task::Verdict out;
    out.outcome = task::Outcome::kPassed;
    return out;
  }
  Result<task::Signature> describe(const task::Problem& problem, task::Target) override {
    if (on_describe) return on_describe(problem);
    return task::signature_of(problem.definition(), problem.workloads.at(0));
  }
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    return on_check ? on_check(request, stop) : Judge::check(request, stop);
  }
  Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop) override {
    return on_trace ? on_trace(request, stop) : Judge::trace(request, stop);
  }
  Result<Capabilities> capabilities(task::Target target) override {
    return on_capabilities ? on_capabilities(target) : Judge::capabilities(target);
  }

  std::function<Result<task::Verdict>(const EvalRequest&, const std::stop_token&)> on_judge;
  std::function<Result<task::Signature>(const task::Problem&)> on_describe;
  std::function<Result<ProblemCheck>(const CheckRequest&, const std::stop_token&)> on_check;
  std::function<Result<std::string>(const TraceRequest&, const std::stop_token&)> on_trace;
  std::function<Result<Capabilities>(task::Target)> on_capabilities;
  std::atomic<int> judged{0};
};

}  // namespace kw::gym
