// Money and tokens are not overspent, whoever asks at once.
#include "openai/budget.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::openai {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(Budget, NoneIsNoLimit) {
  BudgetKeeper keeper({});
  EXPECT_TRUE(keeper.reserve({1e9, 1'000'000'000'000}, seconds(0), {}));
  EXPECT_TRUE(keeper.check());
}

TEST(Budget, MoneyIsRefusedWithNumbers) {
  BudgetKeeper keeper({1.0, 0});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(keeper.reserve({0.1, 5}, seconds(0), {})) << i;
    keeper.spend({0.1, 5});
    keeper.release({0.1, 5});
  }
  Status refused = keeper.reserve({0.1, 5}, seconds(10), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("budget of 1 has 1 spent"));
}

TEST(Budget, WhatWasSpentBeforeCounts) {
  BudgetKeeper keeper({1.0, 100, 0.5, 50});
  EXPECT_FALSE(keeper.reserve({0.6, 10}, seconds(10), {}));
  EXPECT_FALSE(keeper.reserve({0.1, 60}, seconds(10), {}));
  EXPECT_TRUE(keeper.reserve({0.5, 50}, seconds(0), {}));
}

TEST(Budget, TokensAreRefused) {
  BudgetKeeper keeper({0, 100});
  EXPECT_TRUE(keeper.reserve({0, 100}, seconds(0), {}));
  keeper.release({0, 100});
  Status refused = keeper.reserve({0, 101}, seconds(0), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("100 tokens has 0 spent"));
}

TEST(Budget, OthersWorstCasesAreWaitedFor) {
  BudgetKeeper keeper({0, 100});
  ASSERT_TRUE(keeper.reserve({0, 80}, seconds(0), {}));
  Status late = keeper.reserve({0, 80}, seconds(0), {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kDeadlineExceeded);
  std::jthread first([&] {
    keeper.spend({0, 10});
    keeper.release({0, 80});
  });
  EXPECT_TRUE(keeper.reserve({0, 80}, seconds(60), {}));
}

TEST(Budget, AFailureThatCostLeavesNoRoomForARetry) {
  BudgetKeeper keeper({0, 100});
  ASSERT_TRUE(keeper.reserve({0, 60}, seconds(0), {}));
  keeper.spend({0, 40});
  EXPECT_TRUE(keeper.check());
  keeper.spend({0, 1});
  Status none = keeper.check();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kResourceExhausted);
}

TEST(Budget, ManyThreadsNeverOverspend) {
  BudgetKeeper keeper({0, 10000});
  std::atomic<std::int64_t> spent = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        Rng rng(t);
        for (int i = 0; i < 400; ++i) {
          const Amount worst{0, 100};
          if (!keeper.reserve(worst, seconds(60), {})) {
            ++refused;
            continue;
          }
          const auto used = static_cast<std::int64_t>(rng.below(101));
          spent += used;
          keeper.spend({0, used});
          keeper.release(worst);
        }
      });
  }
  EXPECT_LE(spent, 10000);
  EXPECT_GT(spent, 9900);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace kw::openai
