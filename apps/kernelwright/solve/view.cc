#include "kernelwright/solve/view.h"

#include <algorithm>
#include <variant>

#include "base/text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/progress.h"
#include "kernelwright/solve/files.h"
#include "kernelwright/solve/report.h"
#include "kernelwright/solve/time_left.h"

namespace kw::front {
namespace {

using runlog::Run;

struct Sums {
  Counts counts;
  std::size_t finished = 0, ended = 0;
  const runlog::Attempt* best = nullptr;  // the highest speedup
  std::string best_of;
};

Sums sums_of(const Run& run) {
  Sums out;
  for (const runlog::ProblemTree& tree : run.problems) {
    const Counts one = counts_of(tree);
    out.counts.attempts += one.attempts;
    out.counts.extracted += one.extracted;
    out.counts.compiled += one.compiled;
    out.counts.correct += one.correct;
    out.counts.usage += one.usage;
    if (tree.ended) ++out.ended;
    out.finished += static_cast<std::size_t>(
        std::count_if(tree.attempts.begin(), tree.attempts.end(),
                      [](const runlog::Attempt& attempt) { return attempt.finished(); }));
    const runlog::Attempt* best = tree.best();
    const bool timed = best != nullptr && best->judged->speedup;
    if (timed && (out.best == nullptr || runlog::further(*best, *out.best))) {
      out.best = best;
      out.best_of = tree.key;
    }
  }
  return out;
}

}  // namespace

void SolveView::happened(const runlog::Event& event, const Run& run) {
  if (!begun_) {
    begun_ = true;
    begin_ = drawn_ = now_();
    finished_before_ = sums_of(run).finished;
  }
  const auto* failed = std::get_if<runlog::Failed>(&event.body);
  if (failed != nullptr && failed->code != ErrorCode::kCancelled) {
    print_line(fmt::format("{} attempt {}: {} failed: {}{}", printable(failed->problem, 100),
                           failed->attempt, failed->stage, printable(failed->message, 300),
                           failed->again ? "; trying again" : ""));
  }
  const auto* ended = std::get_if<runlog::ProblemEnded>(&event.body);
  if (ended != nullptr) {
    const runlog::ProblemTree& tree = *run.find(ended->problem);
    const runlog::Attempt* best = tree.best();
    std::string what = std::string(to_string(standing_of(tree)));
    if (best != nullptr && best->judged->speedup)
      what += " " + speedup_text(*best->judged->speedup);
    const Counts counts = counts_of(tree);
    print_line(fmt::format("{}  {}  {} of {} attempts correct, {}", printable(tree.key, 100), what,
                           counts.correct, counts.attempts, runlog::to_string(ended->end)));
  }
  draw(run, ended != nullptr && console_.err_terminal());
}

Status SolveView::problem_ends(const search::SearchProblem& problem,
                               const task::Signature* signature, const runlog::ProblemTree& tree) {
  return write_solution(folder_, problem, signature, tree, build_flags_);
}

void SolveView::clear() {
  if (line_shown_) console_.err("\r\x1b[K");
  line_shown_ = false;
}

void SolveView::print_line(const std::string& text) {
  clear();
  console_.err(text + "\n");
}

std::string SolveView::status(const Run& run) const {
  const Sums sums = sums_of(run);
  const std::size_t most = run.problems.size() * static_cast<std::size_t>(settings_.samples);
  std::string out;
  if (run.problems.size() > 1)
    out += fmt::format("{}/{} problems, ", sums.ended, run.problems.size());
  out += fmt::format("{}/{} attempts, {} extracted, {} compiled, {} correct", sums.counts.attempts,
                     most, sums.counts.extracted, sums.counts.compiled, sums.counts.correct);
  if (sums.best != nullptr) {
    out += fmt::format(", best {}", speedup_text(*sums.best->judged->speedup));
    if (run.problems.size() > 1) out += fmt::format(" ({})", printable(sums.best_of, 60));
  }
  if (sums.counts.usage.tokens() > 0) out += fmt::format(", {} tokens", sums.counts.usage.tokens());
  const double seconds = std::chrono::duration<double>(now_() - begin_).count();
  const std::size_t fresh = sums.finished - std::min(sums.finished, finished_before_);
  if (const auto left = seconds_left(run, settings_, {seconds, fresh}))
    out += fmt::format(", {} left", duration_text(std::chrono::ceil<std::chrono::seconds>(
                                        std::chrono::duration<double>(*left))));
  return out;
}

void SolveView::draw(const Run& run, bool at_once) {
  const bool terminal = console_.err_terminal();
  const auto now = now_();
  if (!at_once && now - drawn_ < status_interval(console_)) return;
  drawn_ = now;
  std::string text = status(run);
  if (!terminal) return console_.err(text + "\n");
  const auto columns = static_cast<std::size_t>(std::max(console_.err_columns() - 1, 10));
  if (text.size() > columns) text = printable(text, columns - 3);  // adds "..."
  console_.err("\r\x1b[K" + text);
  line_shown_ = true;
}

}  // namespace kw::front
