// The share of a step's samples that one of several ranks computes.
#pragma once
#include <span>
#include <vector>

#include "train/data/sample.h"

namespace kw::train {

// Longest samples first, each to the rank that has the fewest tokens so far: every sample is in
// exactly one rank's share, and ranks wait little for each other. The same samples give the same
// shares on all ranks. In the order of `samples`; may be empty.
std::vector<Sample> share_of(std::span<const Sample> samples, int rank, int ranks);

}  // namespace kw::train
