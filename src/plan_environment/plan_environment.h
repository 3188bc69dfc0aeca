// PlanEnvironment: the tasks are problems, an answer is a line with a strategy and a tuning, and
// the writer writes the kernel that the gym judges. So nearly every answer is right, and the reward
// is about speed. An answer that is no plan counts as one without code.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "environment/environment.h"
#include "gym/judge.h"
#include "gym_environment/kernel_environment.h"
#include "task/candidate.h"
#include "task/signature.h"
#include "writer/author/tuner.h"
#include "writer/graph/graph.h"

namespace kw::plan_environment {

struct PlanEnvironmentParts {
  gym::Judge* judge = nullptr;  // borrowed
  gym_environment::RewardOf reward;
  task::Language language = task::Language::kCpp;
  bool list_choices = true;  // in the prompt
  gym::EvalOptions eval;
  int turns = 1;  // of an episode; a later turn tells what the last plan was worth
};

class PlanEnvironment : public environment::Environment {
 public:
  // Keys are unique (KW_CHECK). kUnsupported for a language that the writer does not write.
  static Result<std::unique_ptr<PlanEnvironment>> make(
      std::vector<gym_environment::NamedProblem> problems, PlanEnvironmentParts parts);

  std::vector<std::string> tasks() const override;
  // Traces and describes the problem once: errors of the judge, and kUnsupported for operators that
  // the writer lacks.
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override;
  // Says which plans of a task are worth judging. Errors as of begin().
  Result<writer::Tuner> tuner(const std::string& task, const std::stop_token& stop);

 private:
  class PlanEpisode;
  struct Traced {
    writer::Graph graph;
    task::Signature signature;
  };
  PlanEnvironment(std::vector<gym_environment::NamedProblem> problems, PlanEnvironmentParts parts)
      : problems_(std::move(problems)), parts_(std::move(parts)) {}
  Result<const gym_environment::NamedProblem*> problem_of(const std::string& task) const;
  Result<const Traced*> traced(const gym_environment::NamedProblem& named,
                               const std::stop_token& stop);

  const std::vector<gym_environment::NamedProblem> problems_;
  const PlanEnvironmentParts parts_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Traced>> traced_;  // under mutex_
};

}  // namespace kw::plan_environment
