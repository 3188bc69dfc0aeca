#include "gym_environment/kernel_environment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "gym_environment/read_answer.h"

namespace kw::gym_environment {
namespace {

using environment::Answer;
using environment::Observation;
using environment::Step;

}  // namespace

class KernelEnvironment::KernelEpisode : public environment::Episode {
 public:
  KernelEpisode(const KernelEnvironmentParts& parts, const NamedProblem& named, const Shown& shown,
                Observation first)
      : parts_(parts),
        named_(named),
        graph_(shown.graph),
        task_{named.problem, shown.signature, parts.language, parts.chosen, shown.prompt},
        observation_(std::move(first)) {}

  const Observation& observation() const override { return observation_; }

  // Nothing of the episode changes before all that may fail has succeeded.
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_CHECK(turn_ < parts_.turns);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    KW_TRY(Previous now, judged(answer, stop));
    reward::Finding finding = now.verdict ? reward::finding_of(*now.verdict)
                                          : reward::no_code(answer.finish == text::Finish::kLength);
    finding.truncated = answer.finish == text::Finish::kLength;
    KW_TRY(Step out, paid_step(parts_.reward, finding, now.verdict ? &*now.verdict : nullptr));
    if (!now.candidate) out.facts["why_not"] = now.why_not;
    out.done = turn_ + 1 == parts_.turns;
    now.best = better(now.verdict);
    if (!out.done) {
      KW_TRY(prompt::ChatPrompt prompt, next_prompt(task_, now));
      out.next = {std::move(prompt.messages), true};
    }
    observation_ = out.next;
    previous_ = std::move(now);
    ++turn_;
    return out;
  }

 private:
  Result<Previous> judged(const Answer& answer, const std::stop_token& stop) const {
    if (graph_.misfit) {
      if (std::string misfit = graph_.misfit(answer.text); !misfit.empty())
        return Previous{std::nullopt, std::move(misfit), std::nullopt, std::nullopt};
    }
    std::vector<std::string> shown;
    if (previous_.candidate) shown.push_back(previous_.candidate->sources[0].content);
    Reading reading = read_answer(named_.problem, parts_.language, answer.text, answer.finish,
                                  {fmt::format("attempt_{}", turn_), "policy", ""}, shown);
    Previous out{std::move(reading.candidate), std::move(reading.why_not), std::nullopt,
                 std::nullopt};
    if (!out.candidate) return out;
    KW_TRY(out.verdict,
           parts_.judge->judge(judgement_of(task_, *out.candidate, parts_.eval, named_.key, turn_),
                               stop));
    return out;
  }

  // The fastest of the turns so far and this one.
  std::optional<prompt::BestSoFar> better(const std::optional<task::Verdict>& verdict) const {
    if (!verdict || task::progress_of(*verdict) != task::Progress::kCorrect || !verdict->speedup)
      return previous_.best;
    if (previous_.best && previous_.best->speedup.median >= verdict->speedup->median)
      return previous_.best;
    return prompt::BestSoFar{*verdict->speedup, verdict->times ? verdict->times->candidate_ms : 0};
  }

  const KernelEnvironmentParts& parts_;
  const NamedProblem& named_;
  const ProblemGraph& graph_;
  const KernelTask task_;
  Observation observation_;
  Previous previous_;
  int turn_ = 0;
};

KernelEnvironment::KernelEnvironment(std::vector<NamedProblem> problems,
                                     KernelEnvironmentParts parts)
    : problems_(std::move(problems)), parts_(std::move(parts)) {
  std::set<std::string> keys;
  for (const NamedProblem& named : problems_) KW_CHECK(keys.insert(named.key).second);
  KW_CHECK(!parts_.chosen.compact || parts_.graph_of);
}

std::vector<std::string> KernelEnvironment::tasks() const {
  std::vector<std::string> out;
  for (const NamedProblem& named : problems_) out.push_back(named.key);
  return out;
}

Result<const KernelEnvironment::Shown*> KernelEnvironment::shown(const NamedProblem& named,
                                                                 const std::stop_token& stop) {
  {
    std::lock_guard lock(mutex_);
    const auto found = shown_.find(named.key);
    if (found != shown_.end()) return found->second.get();
  }
  // Two threads may describe the same problem at first; the earlier answer stays.
  Shown made{{}, parts_.prompt, {}};
  KW_TRY(made.signature, parts_.judge->describe(named.problem, parts_.eval.target));
  if (parts_.chosen.compact) {
    KW_TRY(made.graph, parts_.graph_of(named.problem, stop));
    made.prompt.graph = made.graph.text;
  }
  std::lock_guard lock(mutex_);
  auto& kept = shown_[named.key];
  if (!kept) kept = std::make_unique<const Shown>(std::move(made));
  return kept.get();
}

Result<std::unique_ptr<environment::Episode>> KernelEnvironment::begin(
    const std::string& task, const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  const auto named = std::find_if(problems_.begin(), problems_.end(),
                                  [&](const NamedProblem& one) { return one.key == task; });
  if (named == problems_.end()) return fail(ErrorCode::kNotFound, "no problem {:?}", task);
  KW_TRY(const Shown* told, shown(*named, stop));
  KW_TRY(prompt::ChatPrompt prompt, first_prompt({named->problem, told->signature, parts_.language,
                                                  parts_.chosen, told->prompt}));
  return std::make_unique<KernelEpisode>(parts_, *named, *told,
                                         Observation{std::move(prompt.messages), true});
}

}  // namespace kw::gym_environment
