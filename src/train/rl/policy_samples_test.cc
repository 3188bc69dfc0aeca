#include "train/rl/policy_samples.h"

#include <gtest/gtest.h>

#include "lm/sampling/sampling.h"

namespace kw::train {
namespace {

using Tokens = std::vector<std::int32_t>;
using Floats = std::vector<float>;

rollout::Turn turn(Tokens context, Tokens tokens, bool follows) {
  rollout::Turn out;
  out.context = std::move(context);
  out.tokens = std::move(tokens);
  out.follows = follows;
  for (const std::int32_t token : out.tokens) {
    out.logprobs.push_back(-static_cast<float>(token));
    out.advantages.push_back(token * 0.5);
  }
  return out;
}

TEST(PolicySamples, ATurnHasAllThatWasReadBeforeIt) {
  rollout::Group group;
  group.trajectories = {
      {{turn({1, 2}, {3, 4}, false), turn({5}, {6}, true), turn({7, 8}, {9}, false)}},
      {{turn({1, 2}, {10}, false)}}};
  const std::vector<PolicySample> samples = policy_samples(std::span(&group, 1));
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0].sample.tokens, (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(samples[0].sample.weights, (Floats{0, 0, 1, 1}));
  EXPECT_EQ(samples[0].advantages, (Floats{0, 0, 1.5, 2}));
  EXPECT_EQ(samples[0].sampler_logprobs, (Floats{0, 0, -3, -4}));
  // The first answer was learnt from in its own turn.
  EXPECT_EQ(samples[1].sample.tokens, (Tokens{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(samples[1].sample.weights, (Floats{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(samples[1].advantages, (Floats{0, 0, 0, 0, 0, 3}));
  EXPECT_TRUE(samples[1].cutoffs.empty());
  EXPECT_EQ(samples[2].sample.tokens, (Tokens{7, 8, 9}));
  EXPECT_EQ(samples[3].sample.tokens, (Tokens{1, 2, 10}));
}

TEST(PolicySamples, CutoffsStandAtTheTokensThatWereSampled) {
  rollout::Group group;
  group.trajectories = {{{turn({1, 2}, {3, 4}, false), turn({5}, {6}, true)}}};
  group.trajectories[0].turns[0].cutoffs = {-7, -8};
  group.trajectories[0].turns[1].cutoffs = {-9};
  const std::vector<PolicySample> samples = policy_samples(std::span(&group, 1));
  ASSERT_EQ(samples.size(), 2U);
  const float none = lm::kNoCutoff;
  EXPECT_EQ(samples[0].cutoffs, (Floats{none, none, -7, -8}));
  EXPECT_EQ(samples[1].cutoffs, (Floats{none, none, none, none, none, -9}));
}

TEST(PolicySamples, AGroupWithoutSpreadStaysForWhatItsTextsTeach) {
  rollout::Group group;
  group.without_spread = true;
  group.trajectories = {{{turn({1, 2}, {3, 4}, false), turn({5, 6}, {7}, true)}},
                        {{turn({1, 2}, {8}, false)}}};
  rollout::Turn& second = group.trajectories[0].turns[1];
  second.observed = {0, 1};
  group.trajectories[1].turns[0].teacher_context = {9, 9, 9};
  std::vector<PolicySample> samples = policy_samples(std::span(&group, 1), true);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].sample.weights, (Floats{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(samples[0].advantages, (Floats{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(samples[0].observed, (Floats{0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(samples[0].answer_tokens, 1);
  EXPECT_EQ(samples[1].sample.tokens, (Tokens{1, 2, 8}));
  EXPECT_EQ(samples[1].teacher_context, (Tokens{9, 9, 9}));
  samples = policy_samples(std::span(&group, 1));
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_TRUE(samples[0].observed.empty());
}

}  // namespace
}  // namespace kw::train
