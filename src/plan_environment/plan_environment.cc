#include "plan_environment/plan_environment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "gym_environment/read_answer.h"
#include "plan_environment/plan_prompt.h"
#include "writer/author/author.h"

namespace kw::plan_environment {

using environment::Answer;
using environment::Observation;
using environment::Step;
using gym_environment::NamedProblem;

namespace {

constexpr std::size_t kMaxWhyNot = 200;

Observation said(std::string text, bool whole) {
  Observation out;
  out.messages = {{"user", std::move(text)}};
  out.whole = whole;
  return out;
}

std::string told(const Step& step) {
  if (step.facts.contains("why_not"))
    return fmt::format("No plan: {}. Another one:", step.facts["why_not"].get<std::string>());
  if (!step.facts.contains("speedup"))
    return fmt::format("The kernel: {}. Another plan:",
                       step.facts.value("outcome", std::string("not judged")));
  return fmt::format("Speedup {:.2f}. Another plan:", step.facts["speedup"][0].get<double>());
}

}  // namespace

class PlanEnvironment::PlanEpisode : public environment::Episode {
 public:
  PlanEpisode(const PlanEnvironmentParts& parts, const NamedProblem& named, const Traced& traced)
      : parts_(parts),
        named_(named),
        traced_(traced),
        observation_(
            said(plan_prompt(traced.graph, traced.signature, parts.language, parts.list_choices),
                 true)) {}

  const Observation& observation() const override { return observation_; }

  // Nothing of the episode changes before all that may fail has succeeded.
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_CHECK(turn_ < parts_.turns);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    const bool cut = answer.finish == text::Finish::kLength;
    const auto plan = read_plan(answer.text, parts_.language);
    Step out;
    if (plan) {
      KW_TRY(out, judged(*plan, cut, stop));
    } else {
      KW_TRY(out, gym_environment::paid_step(parts_.reward, reward::no_code(cut), nullptr));
      out.facts["why_not"] = printable(plan.error().message(), kMaxWhyNot);
    }
    out.done = ++turn_ == parts_.turns;
    if (!out.done) out.next = said(told(out), false);
    observation_ = out.next;
    return out;
  }

 private:
  Result<Step> judged(const writer::Labelled& plan, bool cut, const std::stop_token& stop) const {
    KW_TRY(const writer::Draft draft,
           writer::write_kernel(traced_.graph, traced_.signature, parts_.language, plan.strategy,
                                plan.tuning));
    gym_environment::Reading reading = gym_environment::read_answer(
        named_.problem, parts_.language, writer::answer_text(draft), text::Finish::kStop,
        {fmt::format("attempt_{}", turn_), "writer", ""}, {});
    if (!reading.candidate)
      return fail(ErrorCode::kInternal, "the writer's kernel cannot be read: {}", reading.why_not);
    gym::EvalRequest request;
    request.problem = named_.problem;
    request.candidate = std::move(*reading.candidate);
    request.options = parts_.eval;
    request.trajectory = named_.key;
    request.turn = turn_;
    KW_TRY(const task::Verdict verdict, parts_.judge->judge(std::move(request), stop));
    reward::Finding finding = reward::finding_of(verdict);
    finding.truncated = cut;
    KW_TRY(Step out, gym_environment::paid_step(parts_.reward, finding, &verdict));
    out.facts["plan"] = writer::label_of(plan.strategy, plan.tuning);
    return out;
  }

  const PlanEnvironmentParts& parts_;
  const NamedProblem& named_;
  const Traced& traced_;
  Observation observation_;
  int turn_ = 0;
};

Result<std::unique_ptr<PlanEnvironment>> PlanEnvironment::make(std::vector<NamedProblem> problems,
                                                               PlanEnvironmentParts parts) {
  if (writer::strategies(parts.language).empty())
    return fail(ErrorCode::kUnsupported, "plans: the writer writes cpp and triton, not {}",
                task::to_string(parts.language));
  std::set<std::string> keys;
  for (const NamedProblem& named : problems) KW_CHECK(keys.insert(named.key).second);
  return std::unique_ptr<PlanEnvironment>(
      new PlanEnvironment(std::move(problems), std::move(parts)));
}

std::vector<std::string> PlanEnvironment::tasks() const {
  std::vector<std::string> out;
  for (const NamedProblem& named : problems_) out.push_back(named.key);
  return out;
}

Result<const NamedProblem*> PlanEnvironment::problem_of(const std::string& task) const {
  const auto named = std::find_if(problems_.begin(), problems_.end(),
                                  [&](const NamedProblem& one) { return one.key == task; });
  if (named == problems_.end()) return fail(ErrorCode::kNotFound, "no problem {:?}", task);
  return &*named;
}

Result<const PlanEnvironment::Traced*> PlanEnvironment::traced(const NamedProblem& named,
                                                               const std::stop_token& stop) {
  {
    std::lock_guard lock(mutex_);
    const auto found = traced_.find(named.key);
    if (found != traced_.end()) return found->second.get();
  }
  gym::TraceRequest request;
  request.problem = named.problem;
  KW_TRY(const std::string text, parts_.judge->trace(request, stop));
  KW_TRY(writer::Graph graph, writer::graph_from_json(text, "graph of " + named.problem.name));
  KW_TRY(task::Signature signature, parts_.judge->describe(named.problem, parts_.eval.target));
  // What the writer lacks is the same in every strategy.
  const std::string plainest(writer::strategies(parts_.language).back());
  auto draft = writer::write_kernel(graph, signature, parts_.language, plainest);
  if (!draft) return tl::unexpected(std::move(draft).error());
  std::lock_guard lock(mutex_);
  auto& kept = traced_[named.key];
  if (!kept) kept = std::make_unique<const Traced>(Traced{std::move(graph), std::move(signature)});
  return kept.get();
}

Result<std::unique_ptr<environment::Episode>> PlanEnvironment::begin(const std::string& task,
                                                                     const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  KW_TRY(const NamedProblem* named, problem_of(task));
  KW_TRY(const Traced* traced_problem, traced(*named, stop));
  return std::make_unique<PlanEpisode>(parts_, *named, *traced_problem);
}

Result<writer::Tuner> PlanEnvironment::tuner(const std::string& task, const std::stop_token& stop) {
  KW_TRY(const NamedProblem* named, problem_of(task));
  KW_TRY(const Traced* known, traced(*named, stop));
  return writer::Tuner(known->graph, known->signature, parts_.language);
}

}  // namespace kw::plan_environment
