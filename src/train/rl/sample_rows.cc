#include "train/rl/sample_rows.h"

#include <algorithm>
#include <numeric>

#include "train/rl/episode_figures.h"

namespace kw::train {
namespace {

Json mean_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

SampleRows::SampleRows(std::span<const rollout::Group> groups, std::int64_t episodes) {
  bool found = true;
  for (std::size_t place = 0; found; ++place) {
    found = false;
    for (const rollout::Group& group : groups) {
      if (place >= group.trajectories.size() || std::ssize(taken_) >= episodes) continue;
      found = true;
      taken_.push_back({group.id, group.trajectories[place]});
    }
  }
  std::stable_sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) {
    return a.trajectory.number < b.trajectory.number;
  });
}

std::vector<Json> SampleRows::rows(std::int64_t step,
                                   std::span<const rollout::Group> groups) const {
  std::map<std::uint64_t, const rollout::Trajectory*> trained;
  for (const rollout::Group& group : groups)
    for (const rollout::Trajectory& one : group.trajectories) trained[one.number] = &one;
  std::vector<Json> out;
  for (const Taken& taken : taken_) {
    const auto found = trained.find(taken.trajectory.number);
    for (std::size_t i = 0; i < taken.trajectory.turns.size(); ++i) {
      const rollout::Turn& turn = taken.trajectory.turns[i];
      const rollout::Turn* after = found != trained.end() ? &found->second->turns[i] : nullptr;
      out.push_back({{"schema", 1},
                     {"step", step},
                     {"task", taken.task},
                     {"episode", taken.trajectory.number},
                     {"turn", i},
                     {"text", turn.text},
                     {"tokens", turn.tokens.size()},
                     {"truncated", turn.truncated},
                     {"reward", turn.reward},
                     {"parts", reward_parts(turn.facts)},
                     {"facts", turn.facts},
                     {"trained_reward", after != nullptr ? Json(after->reward) : Json()},
                     {"advantage", after != nullptr ? mean_of(after->advantages) : Json()}});
    }
  }
  return out;
}

}  // namespace kw::train
