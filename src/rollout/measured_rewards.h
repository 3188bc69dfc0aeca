// Rewards that were measured: what the measurement's error means for a group.
#pragma once
#include <span>

#include "rollout/trajectory.h"

namespace kw::rollout {

// Rewards of one group and one turn whose intervals overlap become their mean, and so do those that
// hang together over others: a policy must not learn from differences that are noise. Returns how
// many rewards were changed.
std::int64_t merge_overlapping(std::span<Group> groups);

// The share of the variance of rewards inside groups that is the error of their measurement, in
// [0, 1]: the mean of (width / (2 x 1.96))^2 over the mean variance. 0 where there is no variance.
double measurement_share(std::span<const Group> groups);

}  // namespace kw::rollout
