#include "train/rl/policy_samples.h"

#include "base/check.h"
#include "lm/sampling/sampling.h"

namespace kw::train {

std::vector<PolicySample> policy_samples(std::span<const rollout::Group> groups) {
  std::vector<PolicySample> out;
  for (const rollout::Group& group : groups) {
    for (const rollout::Trajectory& one : group.trajectories) {
      std::vector<std::int32_t> read;  // by the policy, before the turn's answer
      for (const rollout::Turn& turn : one.turns) {
        KW_CHECK(turn.advantages.size() == turn.tokens.size() &&
                 turn.logprobs.size() == turn.tokens.size());
        if (!turn.follows) read.clear();
        read.insert(read.end(), turn.context.begin(), turn.context.end());
        PolicySample sample;
        sample.sample.weights.resize(read.size(), 0);
        read.insert(read.end(), turn.tokens.begin(), turn.tokens.end());
        sample.sample.tokens = read;
        sample.sample.weights.resize(read.size(), 1);
        sample.advantages.assign(read.size() - turn.tokens.size(), 0);
        for (const double advantage : turn.advantages)
          sample.advantages.push_back(static_cast<float>(advantage));
        sample.sampler_logprobs.assign(read.size() - turn.tokens.size(), 0);
        sample.sampler_logprobs.insert(sample.sampler_logprobs.end(), turn.logprobs.begin(),
                                       turn.logprobs.end());
        if (!turn.cutoffs.empty()) {
          KW_CHECK(turn.cutoffs.size() == turn.tokens.size());
          sample.cutoffs.assign(read.size() - turn.tokens.size(), lm::kNoCutoff);
          sample.cutoffs.insert(sample.cutoffs.end(), turn.cutoffs.begin(), turn.cutoffs.end());
        }
        out.push_back(std::move(sample));
      }
    }
  }
  return out;
}

}  // namespace kw::train
