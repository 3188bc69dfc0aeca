#include "lm/cuda/step_data.h"

#include <gtest/gtest.h>

namespace kw::lm::cuda {
namespace {

using Numbers = std::vector<std::int32_t>;

// Prompts of slots 4 and 1, one cut down to its last token, between decoded tokens.
Step mixed_step() {
  Step step;
  step.add(10, 70, 2, Phase::kDecode);
  step.add(11, 0, 4);
  step.add(12, 1, 4);
  step.add(13, 9, 0, Phase::kDecode);
  step.add(14, 30, 1);
  step.add(15, 5, 3, Phase::kDecode);
  for (std::int32_t row : {4, 0, 2, 5}) {
    step.samples.emplace_back().row = row;
    step.samples.back().sequence = static_cast<std::uint64_t>(row);
  }
  return step;
}

TEST(StepData, PhasesAreToldApartByTheStepAlone) {
  const StepPlan plan = plan_step(mixed_step(), 5);
  EXPECT_EQ(plan.decode_rows, Numbers({0, 3, 5}));
  EXPECT_EQ(plan.prefill_rows, Numbers({4, 1, 2}));  // by slot; a single token is a prompt's too
  ASSERT_EQ(plan.tiles.size(), 2U);
  EXPECT_EQ(plan.tiles[0].count, 1);
  EXPECT_EQ(plan.tiles[1].count, 2);
  EXPECT_EQ(plan.last_position, 70);
  EXPECT_FALSE(plan.only_decodes());
}

TEST(StepData, PartsHaveOnePhaseAndTheirSamples) {
  const Step step = mixed_step();
  EXPECT_FALSE(is_one_part(step, 8));
  const auto parts = split_by_phase(step, 2);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].step.tokens, Numbers({10, 13}));
  EXPECT_EQ(parts[1].step.tokens, Numbers({15}));
  EXPECT_EQ(parts[2].step.tokens, Numbers({11, 12, 14}));
  EXPECT_EQ(parts[2].step.positions, Numbers({0, 1, 30}));
  EXPECT_EQ(parts[2].step.slots, Numbers({4, 4, 1}));
  std::vector<int> seen(4);
  for (const StepPart& part : parts) {
    EXPECT_TRUE(is_one_part(part.step, 2));
    ASSERT_EQ(part.samples.size(), part.step.samples.size());
    for (std::size_t i = 0; i < part.samples.size(); ++i) {
      ++seen.at(part.samples[i]);
      const SampleRequest& before = step.samples[part.samples[i]];
      const SampleRequest& after = part.step.samples[i];
      EXPECT_EQ(after.sequence, before.sequence);
      EXPECT_EQ(part.step.tokens[static_cast<std::size_t>(after.row)],
                step.tokens[static_cast<std::size_t>(before.row)]);
    }
  }
  EXPECT_EQ(seen, std::vector<int>({1, 1, 1, 1}));
}

}  // namespace
}  // namespace kw::lm::cuda
