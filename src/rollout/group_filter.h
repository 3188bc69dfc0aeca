// Which trajectories and groups are trained on: broken samples are dropped and counted, groups
// without a learning signal are left out, and long answers can be punished softly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rollout/trajectory.h"

namespace kw::rollout {

struct FilterSettings {
  // Groups whose returns have a population standard deviation below this give no gradient (DAPO,
  // arXiv 2503.14476); Dr. Kernel: 1e-3.
  double min_deviation = 1e-8;
  bool drop_all_truncated = false;  // groups in which every trajectory has a truncated turn
  // Groups without spread stay and are marked, as other losses than the rewards' use them.
  bool keep_without_spread = false;
  std::size_t min_group = 1;  // trajectories that a group needs after broken ones are dropped
};

struct FilterCounts {
  std::size_t broken_trajectories = 0;
  std::size_t without_spread = 0, all_truncated = 0, too_small = 0;  // groups
};

// A trajectory is broken where it has no turn, a turn without tokens, a number of log-probabilities
// that is not the number of tokens, or a reward or log-probability that is not finite.
bool is_broken(const Trajectory& trajectory);

// Removes broken trajectories, then groups, in this order of reasons: too small, all truncated,
// without spread. Groups that are left keep their order.
FilterCounts filter_groups(std::vector<Group>& groups, const FilterSettings& settings);

// DAPO's soft punishment of long answers: 0 up to limit - margin tokens, falling linearly to -1 at
// `limit` and below -1 beyond it, as min((limit - margin - length) / margin, 0). margin > 0.
double length_penalty(std::int64_t length, std::int64_t limit, std::int64_t margin);

}  // namespace kw::rollout
