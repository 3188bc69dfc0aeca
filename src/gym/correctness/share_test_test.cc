// Decisions about shares that are far from the boundary, and the number of draws that they take.
#include "gym/correctness/share_test.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::gym {
namespace {

TEST(ShareTest, WhatAlwaysOrNeverHappens) {
  ShareTest always, never;
  while (!always.is_decided()) always.add(true);
  while (!never.is_decided()) never.add(false);
  EXPECT_TRUE(always.is_often());
  EXPECT_EQ(always.draws(), 23);
  EXPECT_FALSE(never.is_often());
  EXPECT_EQ(never.draws(), 7);
}

TEST(ShareTest, TheSameAnswerEachTime) {
  Rng rng(5);
  for (const double share : {0.05, 0.3, 0.5, 0.6, 0.9, 0.95}) {
    for (int i = 0; i < 1000; ++i) {
      ShareTest test;
      while (!test.is_decided()) test.add(rng.uniform() < share);
      ASSERT_EQ(test.is_often(), share > 0.75) << share;
    }
  }
}

TEST(ShareTest, BeforeItIsDecidedTheNearerShareCounts) {
  ShareTest test;
  EXPECT_FALSE(test.is_often());
  for (int i = 0; i < 4; ++i) test.add(i > 0);
  EXPECT_FALSE(test.is_decided());
  EXPECT_FALSE(test.is_often());  // three of four
  test.add(true);
  EXPECT_TRUE(test.is_often());
}

}  // namespace
}  // namespace kw::gym
