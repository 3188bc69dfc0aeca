#include "train/cuda/phase_rows.h"

#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace kw::train::cuda {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kLong).contiguous();
  return {wide.const_data_ptr<std::int64_t>(), wide.const_data_ptr<std::int64_t>() + wide.numel()};
}

Batch batch_of(const Numbers& lengths, std::vector<lm::Phase> phases) {
  std::int64_t tokens = 0;
  for (const std::int64_t length : lengths) tokens += length;
  const std::vector<std::int32_t> none(static_cast<std::size_t>(tokens), 0);
  Batch out = make_batch(none, none, lengths, at::kCPU);
  out.phases = std::move(phases);
  return out;
}

constexpr auto kP = lm::Phase::kPrefill, kD = lm::Phase::kDecode;

TEST(PhaseRows, PromptsComeFirstAndFindTheirWayBack) {
  const PhaseRows rows =
      phase_rows(batch_of({3, 1, 4}, {kP, kP, kD, kD, kP, kD, kP, kD}), 4, at::kCPU);
  EXPECT_EQ(numbers(rows.order), (Numbers{0, 1, 4, 6, 2, 3, 5, 7}));
  EXPECT_EQ(numbers(rows.order.index_select(0, rows.places)), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(numbers(rows.slots), (Numbers{0, 0, 2, 2, 0, 1, 2, 2}));
  EXPECT_EQ(numbers(rows.positions), (Numbers{0, 1, 0, 2, 2, 0, 1, 3}));
  EXPECT_EQ(numbers(rows.list), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(numbers(rows.tiles), (Numbers{0, 2, 2, 2}));
  EXPECT_EQ(numbers(rows.groups), (Numbers{0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(rows.prompts, 4);
  EXPECT_EQ(rows.decoded, 4);
  EXPECT_EQ(rows.last_decoded_position, 3);
  for (const at::Tensor& one : {rows.slots, rows.positions, rows.list, rows.tiles, rows.groups})
    EXPECT_EQ(one.scalar_type(), at::kInt);
}

TEST(PhaseRows, ATileHasRowsOfOneSequence) {
  const PhaseRows rows = phase_rows(batch_of({130, 64, 1}, {}), 4, at::kCPU);
  EXPECT_EQ(numbers(rows.tiles), (Numbers{0, 64, 64, 64, 128, 2, 130, 64, 194, 1}));
  EXPECT_EQ(rows.decoded, 0);
  const PhaseRows decoded = phase_rows(batch_of({2}, {kD, kD}), 4, at::kCPU);
  EXPECT_FALSE(decoded.tiles.defined());
  EXPECT_EQ(decoded.prompts, 0);
}

// Attention takes a group's rows together: one sequence's, at positions of the same sixteen.
TEST(PhaseRows, AGroupHasRowsOfOneTileOfPositions) {
  std::vector<lm::Phase> phases(14, kP);
  phases.resize(14 + 20, kD);
  phases.push_back(kP);
  phases.push_back(kD);
  const PhaseRows rows = phase_rows(batch_of({34, 2}, std::move(phases)), 4, at::kCPU);
  // Positions 14, 15; 16 to 31 by fours; 32, 33; then the other sequence's.
  EXPECT_EQ(numbers(rows.groups), (Numbers{0, 2, 2, 4, 6, 4, 10, 4, 14, 4, 18, 2, 20, 1}));
  EXPECT_EQ(rows.groups.scalar_type(), at::kInt);
}

}  // namespace
}  // namespace kw::train::cuda
