#include "train/rl/policy_samples.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "lm/sampling/sampling.h"

namespace kw::train {

namespace {

// `before` in front of a turn's numbers, which are those of its last tokens.
template <typename T>
std::vector<float> behind(std::size_t size, float before, const std::vector<T>& numbers) {
  KW_CHECK(numbers.size() <= size);
  std::vector<float> out(size - numbers.size(), before);
  for (const T number : numbers) out.push_back(static_cast<float>(number));
  return out;
}

// read: all before the answer, and the answer. rewarded: rewards teach something of it.
PolicySample sample_of(const rollout::Turn& turn, const std::vector<std::int32_t>& read,
                       bool rewarded, bool observations) {
  const std::size_t size = read.size(), drawn = turn.tokens.size();
  KW_CHECK(turn.logprobs.size() == drawn && (!rewarded || turn.advantages.size() == drawn));
  PolicySample out;
  out.sample.tokens = read;
  out.sample.weights = behind(size, 0, std::vector<float>(drawn, rewarded ? 1 : 0));
  out.advantages = behind(size, 0, rewarded ? turn.advantages : std::vector<double>(drawn));
  out.sampler_logprobs = behind(size, 0, turn.logprobs);
  KW_CHECK(turn.cutoffs.empty() || turn.cutoffs.size() == drawn);
  if (!turn.cutoffs.empty()) out.cutoffs = behind(size, lm::kNoCutoff, turn.cutoffs);
  out.answer_tokens = static_cast<std::int64_t>(drawn);
  out.teacher_context = turn.teacher_context;
  if (observations && !turn.observed.empty()) {
    KW_CHECK(turn.observed.size() == turn.context.size());
    out.observed = behind(size - drawn, 0, turn.observed);
    out.observed.resize(size, 0);
  }
  return out;
}

bool is_learnt(const PolicySample& one, bool rewarded) {
  return rewarded || !one.teacher_context.empty() || std::ranges::count(one.observed, 1.0F) > 0;
}

}  // namespace

std::vector<PolicySample> policy_samples(std::span<const rollout::Group> groups,
                                         bool observations) {
  std::vector<PolicySample> out;
  for (const rollout::Group& group : groups) {
    const bool rewarded = !group.without_spread;
    for (const rollout::Trajectory& one : group.trajectories) {
      std::vector<std::int32_t> read;  // by the policy
      for (const rollout::Turn& turn : one.turns) {
        if (!turn.follows) read.clear();
        read.insert(read.end(), turn.context.begin(), turn.context.end());
        read.insert(read.end(), turn.tokens.begin(), turn.tokens.end());
        PolicySample sample = sample_of(turn, read, rewarded, observations);
        if (is_learnt(sample, rewarded)) out.push_back(std::move(sample));
      }
    }
  }
  return out;
}

}  // namespace kw::train
