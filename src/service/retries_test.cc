// Pauses before retries, and for whom a task is then kept.
#include "service/retries.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RetriesTest : public testing::Test {
 protected:
  bool may_take(const std::string& worker) const {
    return Retries::may_take(retries.kind_of(7, "cpp/full"), worker);
  }
  std::vector<JobId> pass(milliseconds time) {
    now += time;
    return retries.due(now, [this](JobId, const std::vector<std::string>& none_of) {
      asked = none_of;
      return is_there;
    });
  }
  // The pause of a first retry is over.
  void pass_pause() { EXPECT_EQ(pass(milliseconds(1500)), std::vector<JobId>{7}); }

  Retries::Time now{seconds(1000)};
  Retries retries{RetryLimits{}};
  bool is_there = false;
  std::vector<std::string> asked;
};

TEST(RetryPause, GrowsToItsLimitAndVariesByHalf) {
  milliseconds least[6], most[6];
  for (int number = 1; number <= 5; ++number) {
    least[number] = milliseconds::max();
    most[number] = milliseconds(0);
    for (JobId job = 1; job <= 500; ++job) {
      const milliseconds pause = retry_pause({}, number, job, number);
      least[number] = std::min(least[number], pause);
      most[number] = std::max(most[number], pause);
    }
  }
  for (const auto& [number, mean] :
       {std::pair(1, 1000), {2, 4000}, {3, 16000}, {4, 16000}, {5, 16000}}) {
    EXPECT_GE(least[number].count(), mean / 2) << number;
    EXPECT_LT(least[number].count(), mean * 6 / 10) << number;
    EXPECT_GT(most[number].count(), mean * 14 / 10) << number;
    EXPECT_LE(most[number].count(), mean * 3 / 2) << number;
  }
  EXPECT_EQ(retry_pause({}, 2, 5, 3), retry_pause({}, 2, 5, 3));
}

TEST_F(RetriesTest, NobodyTakesAJobThatPauses) {
  EXPECT_TRUE(may_take("a"));
  retries.pause(7, 1, 1, "a", now);
  EXPECT_EQ(retries.pausing(), 1U);
  EXPECT_GE(retries.next(), now + milliseconds(500));
  EXPECT_LE(retries.next(), now + milliseconds(1500));
  EXPECT_EQ(retries.pauses_until(7), retries.next());
  EXPECT_FALSE(may_take("a"));
  EXPECT_FALSE(may_take("b"));
  EXPECT_EQ(pass(milliseconds(499)), std::vector<JobId>{});
  pass_pause();
  EXPECT_EQ(retries.pausing(), 0U);
  EXPECT_FALSE(retries.pauses_until(7).has_value());
}

TEST_F(RetriesTest, ThenItIsKeptForOthers) {
  retries.pause(7, 1, 1, "a", now);
  pass_pause();
  EXPECT_TRUE(retries.is_kept_for_others(7));
  EXPECT_TRUE(retries.is_avoided("a"));
  EXPECT_FALSE(retries.is_avoided("b"));
  EXPECT_FALSE(may_take("a"));
  EXPECT_TRUE(may_take("b"));
  EXPECT_TRUE(may_take("aa"));
  EXPECT_TRUE(may_take(""));
  EXPECT_EQ(retries.begin(7, "b"), true);
  EXPECT_EQ(retries.begin(7, "b"), std::nullopt) << "it has begun";
  EXPECT_FALSE(retries.is_avoided("a"));
  EXPECT_EQ(retries.next(), Retries::Time::max());
  retries.pause(7, 2, 2, "b", now);
  pass(seconds(6));
  EXPECT_FALSE(may_take("a"));
  EXPECT_FALSE(may_take("b"));
  EXPECT_TRUE(may_take("c"));
  EXPECT_EQ(Retries::kind_in(retries.kind_of(7, "cpp/full")), "cpp/full");
}

TEST_F(RetriesTest, WithoutOthersItIsForAll) {
  retries.pause(7, 1, 1, "a", now);
  pass_pause();
  EXPECT_EQ(pass(milliseconds(4999)), std::vector<JobId>{});
  EXPECT_FALSE(may_take("a"));
  EXPECT_EQ(pass(milliseconds(1)), std::vector<JobId>{7});
  EXPECT_EQ(asked, std::vector<std::string>{"a"});
  EXPECT_TRUE(may_take("a"));
  EXPECT_EQ(retries.begin(7, "a"), false);
}

TEST_F(RetriesTest, OthersThatAreThereAreWaitedForUntilTheLimit) {
  retries.pause(7, 1, 1, "a", now);
  pass_pause();
  is_there = true;
  for (int i = 0; i < 119; ++i) EXPECT_EQ(pass(seconds(5)), std::vector<JobId>{}) << i;
  EXPECT_FALSE(may_take("a"));
  EXPECT_EQ(pass(seconds(5)), std::vector<JobId>{7});
  EXPECT_TRUE(may_take("a"));
}

TEST_F(RetriesTest, AJobThatIsForgottenLeavesNothing) {
  retries.pause(7, 1, 1, "a", now);
  retries.forget(7);
  EXPECT_EQ(retries.pausing(), 0U);
  EXPECT_EQ(retries.next(), Retries::Time::max());
  retries.pause(7, 1, 1, "a", now);
  pass_pause();
  retries.forget(7);
  EXPECT_FALSE(retries.is_avoided("a"));
  EXPECT_EQ(retries.kept_for_others(), 0U);
  EXPECT_TRUE(may_take("a"));
}

}  // namespace
}  // namespace kw::service
