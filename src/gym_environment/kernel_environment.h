// KernelEnvironment: the tasks are problems, an answer is text with a kernel in it, and the reward
// comes from the gym's verdict. After a turn the policy reads what the gym found.
//
// An answer without code has a verdict of its own: Finding no_code(). What is not the answer's
// fault (a judge that failed, a quarantined problem, a noisy measurement) is an error: no reward.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "environment/environment.h"
#include "gym/judge.h"
#include "gym_environment/kernel_task.h"
#include "gym_environment/paid_step.h"
#include "prompt/problem_prompt.h"
#include "prompt/templates.h"
#include "task/candidate.h"

namespace kw::gym_environment {

struct NamedProblem {
  std::string key;
  task::Problem problem;
};

struct KernelEnvironmentParts {
  gym::Judge* judge = nullptr;  // borrowed
  RewardOf reward;
  task::Language language = task::Language::kCpp;
  prompt::Template chosen;
  prompt::PromptOptions prompt;
  gym::EvalOptions eval;
  int turns = 1;  // of an episode
};

class KernelEnvironment : public environment::Environment {
 public:
  // Keys are unique (KW_CHECK).
  KernelEnvironment(std::vector<NamedProblem> problems, KernelEnvironmentParts parts);

  std::vector<std::string> tasks() const override;
  // Describes the problem once; for a module its reference runs for that. Errors of the judge.
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override;

 private:
  class KernelEpisode;
  Result<const task::Signature*> signature_of(const NamedProblem& named);

  const std::vector<NamedProblem> problems_;
  const KernelEnvironmentParts parts_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const task::Signature>> signatures_;  // under mutex_
};

}  // namespace kw::gym_environment
