#include "search/solver.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/present.h"
#include "gym_environment/kernel_task.h"
#include "gym_environment/read_answer.h"
#include "runlog/candidate_text.h"
#include "runlog/stored.h"
#include "search/attempt_seed.h"
#include "search/best_so_far.h"
#include "search/judging.h"
#include "search/message_blob.h"
#include "search/pools.h"
#include "search/retry_schedule.h"
#include "search/search_log.h"
#include "search/stop_rules.h"

namespace kw::search {
namespace {

using runlog::Attempt;
using runlog::End;
using runlog::ProblemTree;

constexpr int kMaxFailedProblems = 3;  // in a row, by the proposer: then the run ends
constexpr int kPrepare = 0;            // the attempt that failures of preparing are told of
constexpr std::chrono::milliseconds kTick{1000};  // between two calls of Observer::waits

// A problem that is being searched.
struct Active {
  std::size_t problem = 0;
  std::optional<Preparation> preparation;
  std::optional<Ending> ending;  // set: no further attempt begins
  int in_flight = 0;             // tasks in the pools
  int prepare_tries = 0;
  std::map<int, int> propose_tries;  // since the start or resume, by attempt
  std::optional<Judging> judging;
};

std::size_t problem_of(const Message& message) {
  return std::visit([](const auto& m) { return m.problem; }, message);
}

}  // namespace

class Solver::Impl {
 public:
  Impl(Settings settings, std::vector<SearchProblem> problems, SolverParts parts, runlog::Run& run)
      : settings_(std::move(settings)),
        problems_(std::move(problems)),
        parts_(std::move(parts)),
        log_(parts_.folder, run, parts_.now,
             [this](const runlog::Event& event) { parts_.observer->happened(event, log_.run()); }),
        retries_{
            {.tries = settings_.tries, .first_delay = RetryPolicy::Delay(settings_.retry_seconds)},
            settings_.seed} {}

  Status run(runlog::EventBody start, const std::stop_token& stop);

 private:
  // ---- the log and the clock
  Status record(runlog::EventBody body) { return log_.record(std::move(body)); }
  const ProblemTree& tree_of(const Active& active) const { return log_.tree(key_of(active)); }
  const std::string& key_of(const Active& active) const { return problems_[active.problem].key; }
  double seconds_of(const Active& active) const {
    return static_cast<double>(tree_of(active).searched_ms(log_.now_ms())) / 1e3;
  }
  gym_environment::KernelTask task_of(const Active& active) const {
    return {problems_[active.problem].problem, present(active.preparation).signature,
            settings_.language_value(), chosen_, parts_.prompt};
  }

  // ---- steps
  Status admit();
  Status handle(Message message);
  std::chrono::milliseconds tick() const;
  Status stop_late();
  Status prepared(Prepared message);
  Status answered(Answer message);
  Status judged(Judgement message);
  Status record_answer(Active& active, Answer& answer);
  Status no_answer(Active& active, int attempt, const NoAnswer& none);
  Status record_failed(const Active& active, int attempt, const std::vector<FailedTry>& failed,
                       int number, bool again);
  Status go_on(Active& active);  // with what a resumed run had begun
  Status advance(Active& active);
  Status decide_more(Active& active);
  Status decide(Active& active, const Step& step, int attempt, int visible);
  Status extract(Active& active, int attempt);
  Status finish(Active& active);
  void end(Active& active, End why, std::string reason);
  Ending ending_of(const Active& active) const;

  // ---- work for the pools
  void post_prepare(Active& active, double delay);
  Status post_propose(Active& active, int attempt, double delay);
  Status post_judge(Active& active, int attempt, double delay);
  void drain();
  Status keep(Answer& answer);

  const Settings settings_;
  const std::vector<SearchProblem> problems_;
  const SolverParts parts_;
  SearchLog log_;
  const RetrySchedule retries_;
  std::unique_ptr<Method> method_;
  prompt::Template chosen_;
  double cost_usd_ = 0;      // cost of the whole run
  int failed_problems_ = 0;  // problems that failed in a row since the proposer's last answer
  std::size_t next_ = 0;     // index into problems_ of the next one to admit
  std::map<std::size_t, Active> active_;
  std::unique_ptr<Pools> pools_;  // last: its end waits for work that uses the rest
};

Status Solver::Impl::run(runlog::EventBody start, const std::stop_token& stop) {
  KW_TRY(method_, make_method(settings_.method, settings_.method_options()));
  KW_TRY(chosen_, prompt::template_named(settings_.prompt_template));
  for (const ProblemTree& tree : log_.run().problems) cost_usd_ += tree.usage().cost_usd;
  KW_TRY_STATUS(record(std::move(start)));
  const int in_flight = settings_.jobs * settings_.parallel;
  const auto most_waiting =
      static_cast<std::size_t>(in_flight) + static_cast<std::size_t>(settings_.jobs);
  pools_ = std::make_unique<Pools>(parts_.proposer, parts_.judge, parts_.now,
                                   PoolSizes{std::min(in_flight, parts_.proposer->most_at_once()),
                                             settings_.judges, most_waiting});
  auto work = [&]() -> Status {
    KW_TRY_STATUS(admit());
    while (!active_.empty()) {
      std::optional<Message> message = pools_->take(stop, tick());
      if (!message && stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
      if (message) {
        KW_TRY_STATUS(handle(std::move(*message)));
      } else {
        parts_.observer->waits(log_.run());
        KW_TRY_STATUS(stop_late());
      }
      KW_TRY_STATUS(admit());
    }
    return record(runlog::RunEnded{});
  };
  Status status = work();
  pools_->stop();
  if (!status) drain();
  return status;
}

// Keeps the results that have arrived, though nothing more begins. When the log cannot be written,
// nothing is kept.
void Solver::Impl::drain() {
  while (auto message = pools_->take_if_there()) {
    Status kept;
    if (auto* answer = std::get_if<Answer>(&*message)) kept = keep(*answer);
    const std::size_t problem = problem_of(*message);
    auto* judgement = std::get_if<Judgement>(&*message);
    if (judgement != nullptr && active_.contains(problem))
      kept = present(active_.at(problem).judging).keep(*judgement);
    if (!kept) return;  // why the run ended is told, and a resumed one asks again
  }
}

Status Solver::Impl::keep(Answer& answer) {
  if (!answer.result || !active_.contains(answer.problem)) return {};
  Active& active = active_.at(answer.problem);
  if (const auto* none = std::get_if<NoAnswer>(&*answer.result))
    return record_failed(active, answer.attempt, none->failed,
                         ++active.propose_tries[answer.attempt], none->again);
  if (std::holds_alternative<Exhausted>(*answer.result)) return {};
  return record_answer(active, answer);
}

Status Solver::Impl::admit() {
  while (active_.size() < static_cast<std::size_t>(settings_.jobs) && next_ < problems_.size()) {
    const std::size_t index = next_++;
    const ProblemTree& tree = log_.tree(problems_[index].key);
    if (tree.ended && tree.ended->end != End::kFailed) continue;
    KW_TRY_STATUS(record(runlog::ProblemStarted{problems_[index].key}));
    Active& active = active_[index];
    active.problem = index;
    active.judging.emplace(log_, key_of(active), retries_, parts_.judge->may_recover(),
                           [this, index](int attempt, double delay) {
                             return post_judge(active_.at(index), attempt, delay);
                           });
    post_prepare(active, 0);
  }
  return {};
}

Status Solver::Impl::handle(Message message) {
  const auto found = active_.find(problem_of(message));
  if (found == active_.end()) return {};  // it came after its problem was stopped
  Active& active = found->second;
  --active.in_flight;
  if (auto* m = std::get_if<Prepared>(&message)) {
    KW_TRY_STATUS(prepared(std::move(*m)));
  } else if (auto* a = std::get_if<Answer>(&message)) {
    KW_TRY_STATUS(answered(std::move(*a)));
  } else {
    KW_TRY_STATUS(judged(std::get<Judgement>(std::move(message))));
  }
  return advance(active);
}

// The wait for a message. A short limit is looked at more often.
std::chrono::milliseconds Solver::Impl::tick() const {
  constexpr double kPart = 0.05;
  auto out = std::chrono::duration<double, std::milli>(kTick);
  for (const double limit : {settings_.seconds, settings_.total_seconds})
    if (limit > 0)
      out = std::min(out, std::chrono::duration<double, std::milli>(limit * 1e3 * kPart));
  return std::max(std::chrono::milliseconds(1),
                  std::chrono::duration_cast<std::chrono::milliseconds>(out));
}

// Ends problems that have gone on for too long, whatever is in flight.
Status Solver::Impl::stop_late() {
  for (auto it = active_.begin(); it != active_.end();) {
    Active& active = (it++)->second;
    const double run_seconds = static_cast<double>(log_.now_ms()) / 1e3;
    if (!is_overtime(settings_, seconds_of(active), run_seconds)) continue;
    pools_->cancel(active.problem);
    end(active, End::kSeconds, "attempts that were still in flight were stopped");
    KW_TRY_STATUS(finish(active));
  }
  return {};
}

Status Solver::Impl::prepared(Prepared message) {
  Active& active = active_.at(message.problem);
  if (message.result) {
    active.preparation = std::move(*message.result);
    return go_on(active);
  }
  const Error& error = message.result.error();
  const int tries = ++active.prepare_tries;
  const bool again = may_retry(error.code()) && retries_.more_after(tries);
  KW_TRY_STATUS(record(runlog::Failed{key_of(active),
                                      kPrepare,
                                      std::string(runlog::kPrepareStage),
                                      tries,
                                      error.code(),
                                      error.message(),
                                      again,
                                      "",
                                      {}}));
  if (again) {
    post_prepare(active, retries_.pause(key_of(active), kPrepare, tries));
  } else {
    end(active, End::kFailed, error.message());
  }
  return {};
}

Status Solver::Impl::go_on(Active& active) {
  const std::size_t begun = tree_of(active).attempts.size();
  for (std::size_t i = 0; i < begun; ++i) {
    const Attempt& attempt = tree_of(active).attempts[i];
    if (attempt.finished()) continue;
    if (!attempt.answered) {
      KW_TRY_STATUS(post_propose(active, attempt.id, 0));
    } else if (!attempt.extracted) {
      KW_TRY_STATUS(extract(active, attempt.id));
    } else {
      KW_TRY_STATUS(present(active.judging).begin(attempt.id));
    }
  }
  return {};
}

Status Solver::Impl::answered(Answer message) {
  Active& active = active_.at(message.problem);
  if (!message.result) {
    const Error& error = message.result.error();
    return no_answer(active, message.attempt, {{{error, "", {}}}, may_retry(error.code())});
  }
  if (const auto* none = std::get_if<NoAnswer>(&*message.result))
    return no_answer(active, message.attempt, *none);
  if (auto* exhausted = std::get_if<Exhausted>(&*message.result)) {
    end(active, exhausted->end, exhausted->reason);
    return {};
  }
  failed_problems_ = 0;
  KW_TRY_STATUS(record_answer(active, message));
  return extract(active, message.attempt);
}

// The one place where requests are repeated.
Status Solver::Impl::no_answer(Active& active, int attempt, const NoAnswer& none) {
  const int tries = ++active.propose_tries[attempt];
  const bool again = none.again && retries_.more_after(tries);
  KW_TRY_STATUS(record_failed(active, attempt, none.failed, tries, again));
  if (again) return post_propose(active, attempt, retries_.pause(key_of(active), attempt, tries));
  const Error& error = none.failed.back().error;
  const bool first = !active.ending;
  end(active, End::kFailed, error.message());
  if (first && ++failed_problems_ >= kMaxFailedProblems)
    return tl::unexpected(
        Error(error.code(), error.message())
            .with_context(fmt::format("no answer for {} problems in a row", failed_problems_)));
  return {};
}

// again: of the last.
Status Solver::Impl::record_failed(const Active& active, int attempt,
                                   const std::vector<FailedTry>& failed, int number, bool again) {
  for (std::size_t i = 0; i < failed.size(); ++i) {
    const FailedTry& one = failed[i];
    cost_usd_ += one.usage.cost_usd;
    KW_TRY_STATUS(record(runlog::Failed{key_of(active), attempt, std::string(runlog::kProposeStage),
                                        number, one.error.code(), one.error.message(),
                                        again || i + 1 < failed.size(), one.kind, one.usage}));
  }
  return {};
}

Status Solver::Impl::record_answer(Active& active, Answer& answer) {
  auto& proposal = std::get<Proposal>(*answer.result);
  KW_TRY_STATUS(record_failed(active, answer.attempt, proposal.failed,
                              active.propose_tries[answer.attempt] + 1, true));
  KW_TRY(std::string blob, parts_.folder->put(proposal.answer));
  std::string reasoning;
  if (!proposal.reasoning.empty()) {
    KW_TRY(reasoning, parts_.folder->put(proposal.reasoning));
  }
  cost_usd_ += proposal.usage.cost_usd;
  return record(runlog::Answered{key_of(active), answer.attempt, std::move(proposal.by),
                                 std::move(proposal.label), std::move(blob), proposal.finish,
                                 proposal.usage, answer.wall_ms, std::move(reasoning),
                                 std::move(proposal.suspicion)});
}

Status Solver::Impl::extract(Active& active, int attempt) {
  const Attempt& of = tree_of(active).attempts[static_cast<std::size_t>(attempt)];
  const runlog::Answered answer = present(of.answered);
  std::vector<std::string> shown;  // in the prompt
  if (of.decided.parent >= 0) {
    const Attempt& shown_in = tree_of(active).attempts[static_cast<std::size_t>(of.decided.parent)];
    KW_TRY(task::Candidate parent,
           runlog::stored_candidate(parts_.folder->path(), present(shown_in.extracted).candidate));
    shown.push_back(parent.sources[0].content);
  }
  KW_TRY(std::string text, parts_.folder->get(answer.answer));
  const task::Problem& problem = problems_[active.problem].problem;
  gym_environment::Reading reading = gym_environment::read_answer(
      problem, settings_.language_value(), text, answer.finish,
      {fmt::format("attempt_{}", attempt), answer.by, answer.label}, shown);
  runlog::Extracted event{key_of(active), attempt, "", "", std::move(reading.why_not)};
  if (reading.candidate) {
    KW_TRY(event.candidate, parts_.folder->put(runlog::candidate_text(*reading.candidate)));
    event.candidate_hash = reading.candidate->hash;
  }
  const bool has_code = reading.candidate.has_value();
  KW_TRY_STATUS(record(std::move(event)));
  return has_code ? present(active.judging).begin(attempt) : Status();
}

Status Solver::Impl::judged(Judgement message) {
  Active& active = active_.at(message.problem);
  KW_TRY(std::optional<Ending> ending, present(active.judging).arrived(std::move(message)));
  if (ending) end(active, ending->end, std::move(ending->reason));
  return {};
}

// The first reason stays.
void Solver::Impl::end(Active& active, End why, std::string reason) {
  if (!active.ending) active.ending = Ending{why, std::move(reason)};
}

Status Solver::Impl::advance(Active& active) {
  if (active.preparation && !active.ending) KW_TRY_STATUS(decide_more(active));
  if (!active.ending || active.in_flight > 0) return {};
  return finish(active);
}

Status Solver::Impl::decide_more(Active& active) {
  while (!active.ending) {
    const ProblemTree& tree = tree_of(active);
    const auto next = static_cast<int>(tree.attempts.size());
    const int window = std::max(0, next - settings_.parallel + 1);
    const int visible = method_->visible(next);
    for (int i = 0; i < std::max(window, visible); ++i) {
      if (!tree.attempts[static_cast<std::size_t>(i)].finished()) return {};
    }
    if (auto why =
            stop_rule(settings_, tree, static_cast<std::size_t>(window), seconds_of(active))) {
      end(active, *why, "");
    } else if (settings_.cost_usd > 0 && cost_usd_ >= settings_.cost_usd) {
      end(active, End::kCost, fmt::format("the run has cost {:.4g} USD", cost_usd_));
    } else if (settings_.total_seconds > 0 &&
               static_cast<double>(log_.now_ms()) >= settings_.total_seconds * 1e3) {
      end(active, End::kSeconds, "the whole run's");
    } else {
      std::vector<const Attempt*> seen;
      for (int i = 0; i < visible; ++i) seen.push_back(&tree.attempts[static_cast<std::size_t>(i)]);
      Rng rng(attempt_seed(settings_.seed, key_of(active), next, "policy"));
      const Step step = method_->next_step(seen, next, rng);
      if (step.stop) {
        end(active, End::kAttempts, "");
      } else {
        KW_TRY_STATUS(decide(active, step, next, visible));
      }
    }
  }
  return {};
}

Status Solver::Impl::decide(Active& active, const Step& step, int attempt, int visible) {
  prompt::ChatPrompt prompt = present(active.preparation).prompt;
  if (step.parent >= 0) {
    const Attempt& of = tree_of(active).attempts[static_cast<std::size_t>(step.parent)];
    gym_environment::Previous parent;
    KW_TRY(parent.candidate,
           runlog::stored_candidate(parts_.folder->path(), present(of.extracted).candidate));
    if (of.judged) {
      KW_TRY(parent.verdict, runlog::stored_verdict(parts_.folder->path(), of.judged->verdict));
    }
    KW_TRY(parent.best,
           best_so_far(*parts_.folder, tree_of(active), static_cast<std::size_t>(visible)));
    KW_TRY(prompt, gym_environment::next_prompt(task_of(active), parent));
  }
  KW_TRY(std::string blob, parts_.folder->put(messages_text(prompt.messages)));
  KW_TRY_STATUS(record(runlog::Decided{
      key_of(active), attempt, visible, step.parent, step.draw,
      attempt_seed(settings_.seed, key_of(active), attempt, "answer"), prompt.template_id, blob}));
  return post_propose(active, attempt, 0);
}

// Why it ends in the end, when all that was in flight has come.
Ending Solver::Impl::ending_of(const Active& active) const {
  const ProblemTree& tree = tree_of(active);
  Ending out = present(active.ending);
  // The last attempts may have reached a goal meanwhile.
  if (out.end == End::kAttempts) {
    Settings goals = settings_;
    goals.tokens = 0;
    goals.seconds = 0;
    out.end = stop_rule(goals, tree, tree.attempts.size(), 0).value_or(End::kAttempts);
  }
  const bool has_reason =
      out.end == End::kFailed || out.end == End::kQuarantined || out.end == End::kUnsupported;
  const runlog::Failed* abandonment = tree.abandonment();
  // A kernel may be among those without a verdict: a resumed run judges them again.
  if (abandonment != nullptr && tree.best() == nullptr && !has_reason)
    out = {End::kFailed, fmt::format("attempt {} could not be judged: {}", abandonment->attempt,
                                     abandonment->message)};
  return out;
}

Status Solver::Impl::finish(Active& active) {
  const ProblemTree& tree = tree_of(active);
  Ending ending = ending_of(active);
  const Attempt* best = tree.best();
  const task::Signature* signature = active.preparation ? &active.preparation->signature : nullptr;
  KW_TRY_STATUS(parts_.observer->problem_ends(problems_[active.problem], signature, tree));
  KW_TRY_STATUS(record(runlog::ProblemEnded{key_of(active), ending.end, std::move(ending.reason),
                                            best == nullptr ? runlog::kNoParent : best->id,
                                            seconds_of(active)}));
  active_.erase(active_.find(active.problem));
  return {};
}

void Solver::Impl::post_prepare(Active& active, double delay) {
  ++active.in_flight;
  pools_->prepare(active.problem, delay, [this, index = active.problem]() -> Result<Preparation> {
    const task::Problem& problem = problems_[index].problem;
    Preparation out;
    KW_TRY(out.signature, parts_.judge->describe(problem, settings_.target));
    KW_TRY(out.prompt,
           gym_environment::first_prompt(
               {problem, out.signature, settings_.language_value(), chosen_, parts_.prompt}));
    return out;
  });
}

Status Solver::Impl::post_propose(Active& active, int attempt, double delay) {
  const ProblemTree& tree = tree_of(active);
  const runlog::Decided& decided = tree.attempts[static_cast<std::size_t>(attempt)].decided;
  ProposalRequest request;
  request.problem = &problems_[active.problem].problem;
  request.signature = &present(active.preparation).signature;
  request.key = key_of(active);
  request.attempt = attempt;
  request.seed = decided.seed;
  request.parent = decided.parent;
  request.run = parts_.folder;
  KW_TRY(std::string text, parts_.folder->get(decided.prompt));
  KW_TRY(request.messages, messages_from_text(text));
  request.history.assign(tree.attempts.begin(), tree.attempts.begin() + decided.visible);
  request.in_flight = attempt - decided.visible;
  ++active.in_flight;
  pools_->propose(active.problem, delay, std::move(request));
  return {};
}

Status Solver::Impl::post_judge(Active& active, int attempt, double delay) {
  const Attempt& of = tree_of(active).attempts[static_cast<std::size_t>(attempt)];
  const task::Problem& problem = problems_[active.problem].problem;
  gym::EvalOptions options = parts_.eval;
  options.max_seconds =
      timing_seconds(settings_, options.max_seconds, timed_workloads(problem, settings_.target),
                     seconds_of(active));
  KW_TRY(task::Candidate candidate,
         runlog::stored_candidate(parts_.folder->path(), present(of.extracted).candidate));
  ++active.in_flight;
  pools_->judge(active.problem, delay, attempt,
                gym_environment::judgement_of(task_of(active), std::move(candidate), options,
                                              key_of(active), attempt));
  return {};
}

Solver::Solver(Settings settings, std::vector<SearchProblem> problems, SolverParts parts,
               runlog::Run& run)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(problems), std::move(parts),
                                   run)) {}
Solver::~Solver() = default;

Status Solver::run(runlog::EventBody start, const std::stop_token& stop) {
  return impl_->run(std::move(start), stop);
}

}  // namespace kw::search
