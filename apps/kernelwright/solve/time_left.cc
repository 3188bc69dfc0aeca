#include "kernelwright/solve/time_left.h"

#include <algorithm>

#include "kernelwright/solve/counts.h"

namespace kw::front {
namespace {

using runlog::ProblemTree;

std::size_t attempts_left(const runlog::Run& run, int samples) {
  std::size_t out = 0;
  for (const ProblemTree& tree : run.problems) {
    if (tree.ended) continue;
    const std::size_t finished = counts_of(tree).finished;
    out +=
        static_cast<std::size_t>(samples) - std::min(finished, static_cast<std::size_t>(samples));
  }
  return out;
}

// The time by --seconds of each problem, `jobs` at once.
double limit_of_problems(const runlog::Run& run, const search::Settings& settings,
                         std::int64_t now_ms) {
  double sum = 0, longest = 0;
  for (const ProblemTree& tree : run.problems) {
    if (tree.ended) continue;
    const double left =
        std::max(0.0, settings.seconds - static_cast<double>(tree.searched_ms(now_ms)) / 1e3);
    sum += left;
    longest = std::max(longest, left);
  }
  return std::max(longest, sum / settings.jobs);
}

}  // namespace

std::optional<double> seconds_left(const runlog::Run& run, const search::Settings& settings,
                                   const Pace& pace, std::int64_t now_ms) {
  const std::size_t attempts = attempts_left(run, settings.samples);
  if (attempts == 0) return std::nullopt;
  std::optional<double> out;
  const auto at_most = [&out](double seconds) { out = std::min(out.value_or(seconds), seconds); };
  if (pace.finished > 0)
    at_most(pace.seconds / static_cast<double>(pace.finished) * static_cast<double>(attempts));
  if (settings.seconds > 0) at_most(limit_of_problems(run, settings, now_ms));
  if (settings.total_seconds > 0)
    at_most(std::max(0.0, settings.total_seconds - static_cast<double>(now_ms) / 1e3));
  return out;
}

}  // namespace kw::front
