#include "kernelwright/solve/view.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "base/text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/solve/counts.h"
#include "kernelwright/solve/files.h"
#include "kernelwright/solve/status_line.h"
#include "kernelwright/solve/time_left.h"

namespace kw::front {
namespace {

using runlog::Run;

// All but the time.
Progress progress_of(const Run& run, const search::Settings& settings) {
  Progress out;
  out.problems = run.problems.size();
  out.most_attempts = run.problems.size() * static_cast<std::size_t>(settings.samples);
  const runlog::Attempt* best = nullptr;
  for (const runlog::ProblemTree& tree : run.problems) {
    out.counts += counts_of(tree);
    if (tree.ended) ++out.ended;
    const runlog::Attempt* of_it = tree.best();
    if (of_it == nullptr || !of_it->judged || !of_it->judged->speedup) continue;
    if (best != nullptr && !runlog::further(*of_it, *best)) continue;
    best = of_it;
    out.best = of_it->judged->speedup;
    out.best_of = tree.key;
  }
  return out;
}

}  // namespace

void SolveView::happened(const runlog::Event& event, const Run& run) {
  if (!begun_) {
    begun_ = true;
    begin_ = drawn_ = now_();
    finished_before_ = progress_of(run, settings_).counts.finished;
  }
  heard_ = now_();
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
    if (best != nullptr && best->judged && best->judged->speedup)
      what += " " + speedup_text(*best->judged->speedup);
    const Counts counts = counts_of(tree);
    print_line(fmt::format("{}  {}  {} of {} attempts correct, {}", printable(tree.key, 100), what,
                           counts.correct, counts.attempts, runlog::to_string(ended->end)));
  }
  draw(run, ended != nullptr && console_.err_terminal());
}

// On a terminal the time goes on.
void SolveView::waits(const Run& run) {
  if (begun_ && console_.err_terminal()) draw(run, false);
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

std::string SolveView::status(const Run& run, std::size_t columns) const {
  Progress progress = progress_of(run, settings_);
  const auto now = now_();
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::size_t finished = progress.counts.finished;
  const std::size_t fresh = finished - std::min(finished, finished_before_);
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - heard_);
  progress.seconds_left =
      seconds_left(run, settings_, {seconds, fresh}, run.last_ms + since.count());
  return status_line(progress, columns);
}

void SolveView::draw(const Run& run, bool at_once) {
  const bool terminal = console_.err_terminal();
  const auto now = now_();
  if (!at_once && now - drawn_ < status_interval(console_)) return;
  drawn_ = now;
  if (!terminal) return console_.err(status(run, std::numeric_limits<std::size_t>::max()) + "\n");
  const auto columns = static_cast<std::size_t>(std::max(console_.err_columns() - 1, 10));
  console_.err("\r\x1b[K" + status(run, columns));
  line_shown_ = true;
}

}  // namespace kw::front
