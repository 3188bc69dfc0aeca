// Judge: the one interface of everything that wants a verdict. The gym of this machine is one
// (local_judge.h); recorded verdicts, and a service, are others.
#pragma once
#include <stop_token>
#include <string>

#include "base/result.h"
#include "gym/eval_request.h"
#include "gym/gym.h"
#include "gym/problem_check.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/target.h"
#include "task/verdict.h"

namespace kw::gym {

// Any thread may call, several at once. Calls block; after a stop they return kCancelled soon. An
// error is never the candidate's fault.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual Result<task::Verdict> judge(EvalRequest request, std::stop_token stop) = 0;
  // The interface of a kernel for the problem's first workload. A module's reference runs for it.
  virtual Result<task::Signature> describe(const task::Problem& problem, task::Target target) = 0;
  // The admission battery, without a candidate. Here and below: kUnsupported, unless overridden.
  virtual Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop);
  // The reference's operators as a text of docs/formats/graph.md, as Gym::trace() has it.
  virtual Result<std::string> trace(const TraceRequest& request, const std::stop_token& stop);
  // The abilities of a target on this machine; kUnsupported for a target that is not there.
  virtual Result<Capabilities> capabilities(task::Target target);
  // Whether a judgement that failed may succeed some time later.
  virtual bool may_recover() const { return true; }
};

}  // namespace kw::gym
