// Events applied one after the other.
#include "runlog/tree.h"

#include <algorithm>
#include <limits>

#include "base/present.h"
#include "base/text.h"

namespace kw::runlog {
namespace {

using task::Progress;

double speed(const Judged& judged) {
  return judged.speedup ? judged.speedup->median : 0;
}

double error_of(const Judged& judged) {
  return judged.error.value_or(std::numeric_limits<double>::infinity());
}

struct Apply {
  Run& run;
  std::int64_t at_ms;

  tl::unexpected<Error> misplaced(std::string_view what, const std::string& problem, int attempt) {
    return fail(ErrorCode::kInvalidArgument, "{} of attempt {} of {} cannot stand here", what,
                attempt, printable(problem, 100));
  }

  Result<ProblemTree*> started(const std::string& key) {
    ProblemTree* tree = run.find(key);
    if (tree == nullptr || !tree->started)
      return fail(ErrorCode::kInvalidArgument, "problem: \"{}\" has not begun",
                  printable(key, 100));
    return tree;
  }

  void pause(ProblemTree& tree) const {
    tree.earlier_ms = tree.searched_ms(at_ms);
    tree.searching = false;
  }

  template <typename Event>
  Result<Attempt*> attempt_of(const Event& e) {
    KW_TRY(ProblemTree * tree, started(e.problem));
    if (static_cast<std::size_t>(e.attempt) >= tree->attempts.size())
      return fail(ErrorCode::kInvalidArgument, "attempt: {} of {} was not decided", e.attempt,
                  printable(e.problem, 100));
    return &tree->attempts[static_cast<std::size_t>(e.attempt)];
  }

  Status operator()(const RunStarted& e) {
    if (!run.header.at.empty())
      return fail(ErrorCode::kInvalidArgument, "type: a run begins only once");
    run.header = e;
    if (!e.hardware.empty()) run.hardware.insert(e.hardware);
    for (const RunStarted::Problem& problem : e.problems) {
      if (!run.index.emplace(problem.key, run.problems.size()).second)
        return fail(ErrorCode::kInvalidArgument, "problems: \"{}\" is there twice",
                    printable(problem.key, 100));
      ProblemTree tree;
      tree.key = problem.key;
      tree.name = problem.name;
      tree.hash = problem.hash;
      run.problems.push_back(std::move(tree));
    }
    return {};
  }
  Status operator()(const RunResumed& e) {
    run.ended = false;
    for (ProblemTree& tree : run.problems) pause(tree);  // what a killed session was searching
    if (!e.hardware.empty()) run.hardware.insert(e.hardware);
    return {};
  }
  Status operator()(const ProblemStarted& e) {
    ProblemTree* tree = run.find(e.problem);
    if (tree == nullptr)
      return fail(ErrorCode::kInvalidArgument, "problem: the run has no \"{}\"",
                  printable(e.problem, 100));
    pause(*tree);
    tree->started = tree->searching = true;
    tree->begun_ms = at_ms;
    if (tree->ended && tree->ended->end == End::kFailed) {
      for (Attempt& attempt : tree->attempts) attempt.abandoned = false;
    }
    tree->ended.reset();
    return {};
  }
  Status operator()(const Decided& e) {
    KW_TRY(ProblemTree * tree, started(e.problem));
    const auto next = static_cast<int>(tree->attempts.size());
    if (e.attempt != next || e.visible > next || e.parent >= e.visible)
      return misplaced("a decision", e.problem, e.attempt);
    Attempt attempt;
    attempt.id = e.attempt;
    attempt.decided = e;
    tree->attempts.push_back(std::move(attempt));
    return {};
  }
  Status operator()(const Answered& e) {
    KW_TRY(Attempt * attempt, attempt_of(e));
    if (attempt->answered) return misplaced("an answer", e.problem, e.attempt);
    attempt->answered = e;
    return {};
  }
  Status operator()(const Extracted& e) {
    KW_TRY(Attempt * attempt, attempt_of(e));
    if (!attempt->answered || attempt->extracted)
      return misplaced("an extraction", e.problem, e.attempt);
    attempt->extracted = e;
    return {};
  }
  Status operator()(const Judged& e) {
    KW_TRY(Attempt * attempt, attempt_of(e));
    if (!attempt->extracted || attempt->finished() ||
        e.same_as >= static_cast<int>(run.find(e.problem)->attempts.size()))
      return misplaced("a verdict", e.problem, e.attempt);
    attempt->judged = e;
    return {};
  }
  Status operator()(const Failed& e) {
    KW_TRY(ProblemTree * tree, started(e.problem));
    tree->failures.push_back(e);
    if (e.again || e.stage != kJudgeStage) return {};
    KW_TRY(Attempt * attempt, attempt_of(e));
    if (attempt->finished()) return misplaced("a failure", e.problem, e.attempt);
    attempt->abandoned = true;
    return {};
  }
  Status operator()(const ProblemEnded& e) {
    KW_TRY(ProblemTree * tree, started(e.problem));
    if (e.best >= static_cast<int>(tree->attempts.size()))
      return misplaced("the best", e.problem, e.best);
    pause(*tree);
    tree->ended = e;
    return {};
  }
  Status operator()(const RunEnded&) {
    run.ended = true;
    return {};
  }
};

}  // namespace

Progress Attempt::progress() const {
  if (judged) return judged->progress;
  return extracted && !extracted->candidate.empty() ? Progress::kExtracted : Progress::kNothing;
}

std::string_view Attempt::outcome_name() const {
  return borderline() ? "borderline" : task::to_string(present(judged).outcome);
}

std::string_view why_no_verdict(const Attempt& attempt) {
  if (attempt.extracted && !attempt.extracted->candidate.empty()) return "not_judged";
  switch (attempt.answered ? attempt.answered->finish : text::Finish::kStop) {
    case text::Finish::kStop:
    case text::Finish::kCancelled:
      return "no_code";
    case text::Finish::kLength:
      return "cut_answer";
    case text::Finish::kContext:
      return "prompt_too_long";
    case text::Finish::kRefused:
      return "refused";
  }
  return "no_code";
}

bool further(const Attempt& a, const Attempt& b) {
  if (a.progress() != b.progress()) return a.progress() > b.progress();
  if (!a.judged || !b.judged) return false;
  if (a.progress() == Progress::kCorrect) return speed(*a.judged) > speed(*b.judged);
  if (a.progress() == Progress::kRightShape) return error_of(*a.judged) < error_of(*b.judged);
  return false;
}

const Attempt* ProblemTree::best(std::size_t visible) const {
  const Attempt* out = nullptr;
  for (std::size_t i = 0; i < std::min(visible, attempts.size()); ++i) {
    const Attempt& attempt = attempts[i];
    if (attempt.correct() && (out == nullptr || further(attempt, *out))) out = &attempt;
  }
  return out;
}

text::Usage ProblemTree::usage() const {
  text::Usage out;
  for (const Attempt& attempt : attempts) {
    if (attempt.answered) out += attempt.answered->usage;
  }
  for (const Failed& failed : failures) out += failed.usage;
  return out;
}

const Failed* ProblemTree::abandonment() const {
  const Failed* out = nullptr;
  for (const Failed& failed : failures) {
    const auto attempt = static_cast<std::size_t>(failed.attempt);
    const bool abandons =
        failed.stage == kJudgeStage && attempt < attempts.size() && attempts[attempt].abandoned;
    if (abandons && (out == nullptr || failed.attempt <= out->attempt)) out = &failed;
  }
  return out;
}

Status Run::apply(const Event& event) {
  const bool first = std::holds_alternative<RunStarted>(event.body);
  if (!first && header.at.empty())
    return fail(ErrorCode::kInvalidArgument, "type: a run begins with run_started");
  KW_TRY_STATUS(std::visit(Apply{*this, event.at_ms}, event.body));
  last_ms = std::max(last_ms, event.at_ms);
  return {};
}

ProblemTree* Run::find(const std::string& key) {
  auto found = index.find(key);
  return found == index.end() ? nullptr : &problems[found->second];
}
const ProblemTree* Run::find(const std::string& key) const {
  auto found = index.find(key);
  return found == index.end() ? nullptr : &problems[found->second];
}

}  // namespace kw::runlog
