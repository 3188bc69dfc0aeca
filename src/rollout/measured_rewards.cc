#include "rollout/measured_rewards.h"

#include <algorithm>
#include <vector>

namespace kw::rollout {
namespace {

constexpr double kStandardErrors = 1.96;  // half of a 95 % interval

// The turns with this number of the group's trajectories that are long enough.
std::vector<Turn*> turns_at(Group& group, std::size_t number) {
  std::vector<Turn*> out;
  for (Trajectory& one : group.trajectories)
    if (one.turns.size() > number) out.push_back(&one.turns[number]);
  return out;
}

std::int64_t merge(std::vector<Turn*> turns) {
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn* a, const Turn* b) { return a->reward_low < b->reward_low; });
  std::int64_t changed = 0;
  for (std::size_t begin = 0; begin < turns.size();) {
    double high = turns[begin]->reward_high, sum = 0;
    std::size_t end = begin;
    bool equal = true;
    for (; end < turns.size() && turns[end]->reward_low <= high; ++end) {
      high = std::max(high, turns[end]->reward_high);
      sum += turns[end]->reward;
      equal = equal && turns[end]->reward == turns[begin]->reward;
    }
    // A mean of equal numbers may differ from them in its last bit.
    const double mean = equal ? turns[begin]->reward : sum / static_cast<double>(end - begin);
    for (; begin < end; ++begin) {
      changed += turns[begin]->reward != mean ? 1 : 0;
      turns[begin]->reward = mean;
    }
  }
  return changed;
}

}  // namespace

std::int64_t merge_overlapping(std::span<Group> groups) {
  std::int64_t changed = 0;
  for (Group& group : groups)
    for (std::size_t number = 0;; ++number) {
      std::vector<Turn*> turns = turns_at(group, number);
      if (turns.empty()) break;
      changed += merge(std::move(turns));
    }
  return changed;
}

double measurement_share(std::span<const Group> groups) {
  double error = 0, variance = 0;
  for (const Group& group : groups) {
    const auto count = static_cast<double>(group.trajectories.size());
    double mean = 0;
    for (const Trajectory& one : group.trajectories) mean += return_of(one) / count;
    for (const Trajectory& one : group.trajectories) {
      variance += (return_of(one) - mean) * (return_of(one) - mean);
      for (const Turn& turn : one.turns) {
        const double half = (turn.reward_high - turn.reward_low) / (2 * kStandardErrors);
        error += half * half;
      }
    }
  }
  return variance > 0 ? std::min(error / variance, 1.0) : 0;
}

}  // namespace kw::rollout
