#include "gym/correctness/selection.h"

#include <cstring>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(Selection, OfLongRowsHasTheSameStretchesOfEachRow) {
  Rng rng(1);
  const Slices whole{4096, 393216};
  const Selection chosen = Selection::random(whole, 1U << 22U, rng);
  EXPECT_EQ(chosen.rows().size(), 64U);
  EXPECT_EQ(chosen.elements(), 1U << 22U);
  std::size_t next = 0, runs = 0;
  chosen.for_runs([&](std::size_t first, std::size_t count) {
    EXPECT_GE(first, next);
    EXPECT_EQ(first % Selection::kStretch, 0U);
    next = first + count;
    ++runs;
  });
  EXPECT_LE(next, whole.rows * whole.columns);
  EXPECT_EQ(runs, chosen.rows().size() * chosen.columns().size());
}

// Each has about a stretch's elements, so that a copy takes few pieces.
TEST(Selection, OfShortRowsHasStretchesOfRows) {
  Rng rng(2);
  const Slices whole{458'753, 56};
  const Selection chosen = Selection::random(whole, 1U << 22U, rng);
  EXPECT_EQ(chosen.columns(), (std::vector<Selection::Range>{{0, 56}}));
  EXPECT_NEAR(static_cast<double>(chosen.elements()), 1U << 22U, Selection::kStretch);
  std::size_t runs = 0, elements = 0;
  chosen.for_runs([&](std::size_t first, std::size_t count) {
    EXPECT_EQ(first % 56, 0U);
    EXPECT_LE(first + count, whole.rows * whole.columns);
    elements += count;
    ++runs;
  });
  EXPECT_EQ(elements, chosen.elements());
  EXPECT_GT(runs, 400U);
  EXPECT_LE(runs, 513U);
}

TEST(Selection, OfRowsOfAStretchHasRandomOnes) {
  Rng rng(2);
  const Selection chosen = Selection::random({1U << 14U, 8192}, std::size_t{80} * 8192, rng);
  EXPECT_EQ(chosen.shape(), (std::vector<std::int64_t>{80, 8192}));
}

TEST(Selection, OfOneRowEndsWithIt) {
  Rng rng(3);
  const std::size_t columns = 2 * Selection::kStretch + 5;
  const Selection all = Selection::random({1, columns}, 1U << 20U, rng);
  EXPECT_EQ(all.elements(), columns);
  EXPECT_EQ(all.columns(), (std::vector<Selection::Range>{{0, columns}}));
}

TEST(Selection, AroundElementsHoldsAsManyAsFit) {
  const Slices whole{100, 10 * Selection::kStretch};
  const auto at = [&](std::uint64_t row, std::uint64_t column) {
    return row * whole.columns + column;
  };
  const std::uint64_t elements[] = {at(7, 20'000), at(3, 5), at(99, 81'919)};
  const Selection two = Selection::around(whole, elements, 4 * Selection::kStretch);
  EXPECT_EQ(two.rows(), (std::vector<std::size_t>{3, 7}));
  EXPECT_EQ(two.columns(),
            (std::vector<Selection::Range>{{0, 8192}, {2 * Selection::kStretch, 8192}}));
  EXPECT_EQ(Selection::around(whole, elements, 1).rows(), (std::vector<std::size_t>{7}));
}

TEST(Selection, TakesItsElementsInOrder) {
  std::vector<std::uint16_t> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  const std::uint64_t elements[] = {250, 0};
  const Selection chosen = Selection::around({3, 100}, elements, 1000);
  const std::vector<std::byte> part = chosen.of(std::as_bytes(std::span(values)), 2);
  ASSERT_EQ(part.size(), 400U);
  std::uint16_t third = 0;
  std::memcpy(&third, part.data() + 200, 2);
  EXPECT_EQ(third, 200);
}

}  // namespace
}  // namespace kw::gym
