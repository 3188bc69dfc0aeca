// These test what a judgement is expected to take, by those before it.
#include "gym/queue/cost_estimates.h"

#include <string>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::microseconds;

TEST(CostEstimates, IsASecondBeforeAnyHasEnded) {
  const CostEstimates costs;
  EXPECT_EQ(costs.of("a"), CostEstimates::kUnknown);
  EXPECT_FALSE(costs.mean());
}

TEST(CostEstimates, AnAffinityHasItsOwnAndOthersThatOfAll) {
  CostEstimates costs;
  costs.add("a", microseconds(100));
  costs.add("b", microseconds(500));
  EXPECT_EQ(costs.of("a"), microseconds(100));
  EXPECT_EQ(costs.of("b"), microseconds(500));
  EXPECT_EQ(costs.of("c"), microseconds(200));  // three quarters of 100, and one of 500
  EXPECT_EQ(costs.of(""), microseconds(200));
  EXPECT_EQ(costs.mean(), microseconds(200));
}

TEST(CostEstimates, EachNewOneCountsAQuarter) {
  CostEstimates costs;
  costs.add("a", microseconds(100));
  costs.add("a", microseconds(500));
  EXPECT_EQ(costs.of("a"), microseconds(200));
  costs.add("a", microseconds(200));
  EXPECT_EQ(costs.of("a"), microseconds(200));
}

TEST(CostEstimates, WithoutAnAffinityOnlyTheMeanIsKnown) {
  CostEstimates costs;
  costs.add("", microseconds(100));
  EXPECT_EQ(costs.of(""), microseconds(100));
  costs.add("a", microseconds(500));
  EXPECT_EQ(costs.of(""), microseconds(200));
}

// Its memory is bounded, and the newest is never the one that goes.
TEST(CostEstimates, TenThousandAffinitiesAreKept) {
  constexpr int kMost = 10'000;
  CostEstimates costs;
  const auto name = [](int i) { return std::to_string(100'000 + i); };
  for (int i = 1; i <= kMost; ++i) costs.add(name(i), microseconds(7));
  EXPECT_EQ(costs.of(name(1)), microseconds(7));
  costs.add("", microseconds(4'000'007));  // so that the mean is another one
  costs.add(name(0), microseconds(9));     // the first by name
  EXPECT_EQ(costs.of(name(0)), microseconds(9));
  EXPECT_NE(costs.of(name(1)), microseconds(7));
  EXPECT_EQ(costs.of(name(2)), microseconds(7));
  costs.add(name(kMost + 1), microseconds(9));
  EXPECT_EQ(costs.of(name(kMost + 1)), microseconds(9));
  EXPECT_NE(costs.of(name(0)), microseconds(9));
}

}  // namespace
}  // namespace kw::gym
