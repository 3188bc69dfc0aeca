#include "rollout/trajectory.h"

#include <numeric>

namespace kw::rollout {

double reward_of(const Turn& turn) {
  return std::accumulate(turn.token_rewards.begin(), turn.token_rewards.end(), turn.reward);
}

double return_of(const Trajectory& trajectory) {
  return return_from(trajectory, 0, 1);
}

double return_from(const Trajectory& trajectory, std::size_t first, double discount) {
  double out = 0;
  for (std::size_t k = trajectory.turns.size(); k > first; --k)
    out = reward_of(trajectory.turns[k - 1]) + discount * out;
  return out;
}

}  // namespace kw::rollout
