// Trajectories as the sequences that a policy's loss is computed on.
#pragma once
#include <span>
#include <vector>

#include "rollout/trajectory.h"
#include "train/data/sample.h"

namespace kw::train {

// A turn as a sequence: all that the policy had read, then its answer. Vectors have the size of the
// tokens; numbers of tokens that were not sampled are 0.
struct PolicySample {
  Sample sample;  // weight 1: a token that the policy drew
  std::vector<float> advantages, sampler_logprobs;
  std::vector<float> cutoffs;  // lm::Sample::cutoff; empty: the sampler truncates nothing
};
// Every turn is a sequence of its own, so that what it had read is computed again for each. A turn
// whose conversation does not go on from the one before it has its whole context.
std::vector<PolicySample> policy_samples(std::span<const rollout::Group> groups);

}  // namespace kw::train
