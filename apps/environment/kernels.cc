#include "kernels.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "gym/compile/plan.h"
#include "gym/local_judge.h"
#include "gym_environment/judge_once.h"
#include "gym_environment/kernel_environment.h"
#include "service/remote_judge.h"
#include "task/problem_source.h"
#include "task/settings.h"
#include "writer/author/answer_plan.h"
#include "writer/author/operator_chain.h"
#include "writer/graph/graph.h"

namespace kw::environment_program {
namespace {

using gym_environment::NamedProblem;

// The trainer as the gym's background.
class TrainerBackground : public gym::Background {
 public:
  explicit TrainerBackground(environment_link::Trainer& trainer) : trainer_(trainer) {}
  void pause() override { trainer_.pause(); }
  void resume() override { trainer_.resume(); }

 private:
  environment_link::Trainer& trainer_;
};

// An environment together with the judge that it borrows.
class Owning : public environment::Environment {
 public:
  Owning(OpenedGym opened, std::unique_ptr<environment::Environment> inner,
         std::vector<std::string> tasks)
      : opened_(std::move(opened)), inner_(std::move(inner)), tasks_(std::move(tasks)) {}
  std::vector<std::string> tasks() const override { return tasks_; }
  Result<std::unique_ptr<environment::Episode>> begin(const std::string& task,
                                                      const std::stop_token& stop) override {
    return inner_->begin(task, stop);
  }

 private:
  const OpenedGym opened_;
  const std::unique_ptr<environment::Environment> inner_;
  const std::vector<std::string> tasks_;
};

// Each key once: "NAME", "NAME#2".
Status read_problems(const Settings& settings, OpenedGym& out) {
  KW_TRY(const task::Settings set, task::parse_settings(settings.set));
  std::map<std::string, int> seen;
  for (const std::string& path : settings.problems) {
    KW_TRY(std::vector<task::LoadedProblem> loaded, task::load_each_problem(path, set));
    for (task::LoadedProblem& one : loaded) {
      if (!one.problem) {
        out.left_out.push_back(one.name + ": " + one.problem.error().message());
        continue;
      }
      const int number = ++seen[one.problem->name];
      out.problems.push_back(
          {number == 1 ? one.problem->name : fmt::format("{}#{}", one.problem->name, number),
           std::move(*one.problem)});
    }
  }
  return {};
}

gym_environment::RewardOf reward_of(const Settings& settings) {
  return [terms = settings.reward](const reward::Finding& finding) {
    return reward::named_reward(finding, terms);
  };
}

// An answer's plan must name the operators of the graph: without them its kernel is not right
// either.
gym_environment::GraphOf graphs_of(gym::Judge& judge) {
  return [&judge](const task::Problem& problem,
                  const std::stop_token& stop) -> Result<gym_environment::ProblemGraph> {
    gym::TraceRequest request;
    request.problem = problem;
    KW_TRY(const std::string text, judge.trace(request, stop));
    KW_TRY(const writer::Graph graph, writer::graph_from_json(text, "graph of " + problem.name));
    const auto misfit = [operators = writer::operator_chain(graph)](std::string_view answer) {
      const auto plan = writer::parse_plan(answer);
      if (!plan) return plan.error().message();
      return plan->operators == operators ? std::string()
                                          : fmt::format("the plan's operators are {}, not {}",
                                                        printable(plan->operators, 200), operators);
    };
    return gym_environment::ProblemGraph{writer::to_text(writer::without_lines(graph)), misfit};
  };
}

Result<std::unique_ptr<environment::Environment>> environment_of(
    const Settings& settings, gym::Judge& judge, std::vector<NamedProblem> problems) {
  if (settings.kind == "plans") {
    KW_TRY(auto made, plans_of(settings, judge, std::move(problems)));
    return made;
  }
  gym_environment::KernelEnvironmentParts parts;
  parts.judge = &judge;
  parts.reward = reward_of(settings);
  parts.language = language_of(settings);
  KW_TRY(parts.chosen, prompt::template_named(settings.prompt));
  if (parts.chosen.hardware)
    return fail(ErrorCode::kInvalidArgument,
                "environment.template: {} tells facts of a machine, which the environment has not",
                settings.prompt);
  parts.prompt.target = settings.eval.target;
  parts.prompt.threads = settings.eval.threads;
  parts.prompt.build_flags = gym::shown_cpp_flags();
  parts.prompt.strategy = settings.strategy;
  if (parts.chosen.compact) parts.graph_of = graphs_of(judge);
  parts.eval = settings.eval;
  parts.turns = settings.turns;
  return std::make_unique<gym_environment::KernelEnvironment>(std::move(problems), parts);
}

// The tasks that can begin; the others go to left_out.
Result<std::vector<std::string>> usable(environment::Environment& environment,
                                        std::vector<std::string>& left_out) {
  std::vector<std::string> out;
  for (const std::string& task : environment.tasks()) {
    auto episode = environment.begin(task, {});
    if (episode) {
      out.push_back(task);
    } else if (episode.error().code() == ErrorCode::kUnsupported ||
               episode.error().code() == ErrorCode::kInvalidArgument) {
      left_out.push_back(task + ": " + episode.error().message());
    } else {
      return tl::unexpected(std::move(episode).error().with_context(task));
    }
  }
  return out;
}

Result<std::unique_ptr<gym::Judge>> start_judge(const Settings& settings,
                                                gym::Background* background) {
  if (!settings.judge.empty())
    return service::make_remote_judge({.url = settings.judge,
                                       .token = service::token_of_environment(),
                                       .ca_file = settings.judge_ca_file,
                                       .allow_plaintext = settings.judge_allow_plaintext});
  gym::GymOptions options;
  options.jobs = settings.jobs;
  options.background = background;
  return gym::start_local_judge(options);
}

}  // namespace

Result<OpenedGym> open_gym(const Settings& settings, environment_link::Trainer* trainer) {
  OpenedGym out;
  if (trainer != nullptr) out.trainer = std::make_unique<TrainerBackground>(*trainer);
  KW_TRY_STATUS(read_problems(settings, out));
  KW_TRY(out.gym, start_judge(settings, out.trainer.get()));
  auto once = std::make_unique<gym_environment::JudgeOnce>(*out.gym);
  if (!settings.verdicts.empty()) KW_TRY_STATUS(once->keep_in(settings.verdicts));
  out.once = std::move(once);
  return out;
}

Result<std::unique_ptr<plan_environment::PlanEnvironment>> plans_of(
    const Settings& settings, gym::Judge& judge, std::vector<NamedProblem> problems) {
  plan_environment::PlanEnvironmentParts parts;
  parts.judge = &judge;
  parts.reward = reward_of(settings);
  parts.language = language_of(settings);
  parts.list_choices = settings.list_choices;
  parts.eval = settings.eval;
  parts.turns = settings.turns;
  return plan_environment::PlanEnvironment::make(std::move(problems), std::move(parts));
}

Result<environment_link::ServedEnvironment> make_environment(const Json& value,
                                                             environment_link::Trainer* trainer) {
  KW_TRY(const Settings settings, settings_from_json(value));
  KW_TRY(OpenedGym opened, open_gym(settings, trainer));
  KW_TRY(auto inner, environment_of(settings, *opened.once, std::move(opened.problems)));
  std::vector<std::string>& left_out = opened.left_out;
  KW_TRY(std::vector<std::string> tasks, usable(*inner, left_out));
  if (tasks.empty())
    return fail(ErrorCode::kNotFound, "environment.problems: none can be used{}",
                left_out.empty() ? "" : ": " + printable(left_out.front(), 400));
  std::string about =
      fmt::format("{} of {} problems", tasks.size(), tasks.size() + left_out.size());
  if (!left_out.empty())
    about += fmt::format("; left out, for example: {}", printable(left_out.front(), 300));
  environment_link::ServedEnvironment out;
  out.environment = std::make_unique<Owning>(std::move(opened), std::move(inner), std::move(tasks));
  out.about = std::move(about);
  out.threads = settings.jobs;
  return out;
}

}  // namespace kw::environment_program
