#include "rollout/group_filter.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kw::rollout {
namespace {

bool is_broken_turn(const Turn& turn) {
  auto finite = [](auto value) { return std::isfinite(value); };
  return turn.tokens.empty() || turn.logprobs.size() != turn.tokens.size() ||
         !std::isfinite(turn.reward) ||
         !std::all_of(turn.logprobs.begin(), turn.logprobs.end(), finite) ||
         !std::all_of(turn.token_rewards.begin(), turn.token_rewards.end(), finite);
}

bool is_truncated(const Trajectory& trajectory) {
  return std::any_of(trajectory.turns.begin(), trajectory.turns.end(),
                     [](const Turn& turn) { return turn.truncated; });
}

double spread_of(const Group& group) {
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(group.trajectories.size());
  for (const Trajectory& one : group.trajectories) mean += return_of(one) / count;
  for (const Trajectory& one : group.trajectories)
    squares += (return_of(one) - mean) * (return_of(one) - mean) / count;
  return std::sqrt(squares);
}

}  // namespace

bool is_broken(const Trajectory& trajectory) {
  return trajectory.turns.empty() ||
         std::any_of(trajectory.turns.begin(), trajectory.turns.end(), is_broken_turn);
}

FilterCounts filter_groups(std::vector<Group>& groups, const FilterSettings& settings) {
  FilterCounts counts;
  for (Group& group : groups)
    counts.broken_trajectories += std::erase_if(group.trajectories, is_broken);
  counts.too_small = std::erase_if(groups, [&](const Group& group) {
    return group.trajectories.size() < std::max<std::size_t>(settings.min_group, 1);
  });
  if (settings.drop_all_truncated)
    counts.all_truncated = std::erase_if(groups, [](const Group& group) {
      return std::all_of(group.trajectories.begin(), group.trajectories.end(), is_truncated);
    });
  for (Group& group : groups) {
    group.without_spread = spread_of(group) < settings.min_deviation;
    counts.without_spread += group.without_spread ? 1 : 0;
  }
  if (!settings.keep_without_spread)
    std::erase_if(groups, [](const Group& group) { return group.without_spread; });
  return counts;
}

double length_penalty(std::int64_t length, std::int64_t limit, std::int64_t margin) {
  KW_CHECK(margin > 0);
  return std::min(static_cast<double>(limit - margin - length) / static_cast<double>(margin), 0.0);
}

}  // namespace kw::rollout
