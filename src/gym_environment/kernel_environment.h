// KernelEnvironment: the tasks are problems, an answer is text with a kernel in it, and the reward
// comes from the gym's verdict. After a turn the policy reads what the gym found.
//
// An answer without code has a verdict of its own: Finding no_code(). What is not the answer's
// fault (a judge that failed, a quarantined problem, a noisy measurement) is an error: no reward.
#pragma once
#include <functional>
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

// ProblemGraph is what a template with a graph tells of a problem, and asks of its answers.
struct ProblemGraph {
  std::string text;  // PromptOptions::graph
  // Says what does not fit in an answer's plan; "" where it fits. Such an answer is not judged, but
  // paid as one without code. Any thread calls it.
  std::function<std::string(std::string_view answer)> misfit;
};
using GraphOf = std::function<Result<ProblemGraph>(const task::Problem&, const std::stop_token&)>;

struct KernelEnvironmentParts {
  gym::Judge* judge = nullptr;  // borrowed
  RewardOf reward;
  task::Language language = task::Language::kCpp;
  prompt::Template chosen;
  prompt::PromptOptions prompt;
  GraphOf graph_of = nullptr;  // of templates with a graph (KW_CHECK); called once for each problem
  gym::EvalOptions eval;
  int turns = 1;  // of an episode
};

class KernelEnvironment : public environment::Environment {
 public:
  // Keys are unique (KW_CHECK).
  KernelEnvironment(std::vector<NamedProblem> problems, KernelEnvironmentParts parts);

  std::vector<std::string> tasks() const override;
  // Describes the problem once; for a module its reference runs for that. Errors of the judge and
  // of graph_of.
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override;

 private:
  class KernelEpisode;
  struct Shown {
    task::Signature signature;
    prompt::PromptOptions prompt;
    ProblemGraph graph;  // empty where the template has none
  };
  Result<const Shown*> shown(const NamedProblem& named, const std::stop_token& stop);

  const std::vector<NamedProblem> problems_;
  const KernelEnvironmentParts parts_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Shown>> shown_;  // under mutex_
};

}  // namespace kw::gym_environment
