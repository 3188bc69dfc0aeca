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
  std::vector<float> cutoffs;      // lm::Sample::cutoff; empty: the sampler truncates nothing
  std::int64_t answer_tokens = 0;  // the last tokens are the answer
  // Weights of the cross-entropy of what the environment said; empty: it said nothing.
  std::vector<float> observed;
  // rollout::Turn::teacher_context
  std::vector<std::int32_t> teacher_context;
};
// Answers of a group without spread have the weight 0, and are left out where nothing else is
// learnt from them. Every turn is a sequence of its own, so that what it had read is computed again
// for each. A turn whose conversation does not go on from the one before it has its whole context.
// observations: `observed` is filled.
std::vector<PolicySample> policy_samples(std::span<const rollout::Group> groups,
                                         bool observations = false);

}  // namespace kw::train
