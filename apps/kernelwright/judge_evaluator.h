// The gym as searches and data filters see it.
#pragma once
#include <memory>
#include <utility>

#include "kernelwright/services.h"
#include "search/evaluator.h"

namespace kw::front {

class JudgeEvaluator : public search::Evaluator {
 public:
  explicit JudgeEvaluator(std::unique_ptr<Judge> judge) : judge_(std::move(judge)) {}
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    return judge_->judge(std::move(request), std::move(stop));
  }
  Result<task::Signature> describe(const task::Problem& problem,
                                   const std::string& target) override {
    if (!problem.is_module() && !problem.workloads.empty())
      return task::signature_of(problem.definition(), problem.workloads[0], problem.policy.statics);
    return judge_->describe(problem, target);
  }

 private:
  std::unique_ptr<Judge> judge_;
};

}  // namespace kw::front
