// Which calls of a judgement are hard: over many secrets, no rule that a candidate could know.
#include "gym/checker/hard_schedule.h"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using Phase = HardSchedule::Phase;

TEST(HardSchedule, KeepsHalfOfTheCasesForTheEnd) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    HardSchedule schedule({0, 1, 2, 3, 4, 5, 6}, seed);
    std::map<std::size_t, int> calls;
    auto count = [&](const std::vector<HardSchedule::Call>& next) {
      for (const auto& call : next)
        if (call) ++calls[*call];
    };
    for (int half = 0; half < 200; ++half) count(schedule.next(1, Phase::kMeasuring));
    EXPECT_FALSE(schedule.is_over());
    std::map<std::size_t, int> before = calls;
    int closing = 0;
    for (; !schedule.is_over(); ++closing) count(schedule.next(1, Phase::kClosing));
    EXPECT_EQ(closing, 4);
    EXPECT_EQ(calls.size(), 7U);
    EXPECT_GE(before.size(), 3U);
  }
}

TEST(HardSchedule, FirstPlacesAndOrderCannotBeKnown) {
  std::map<std::size_t, int> firsts, places;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    HardSchedule schedule({0, 1, 2, 3}, seed);
    for (std::size_t half = 0;; ++half) {
      const auto calls = schedule.next(4, Phase::kMeasuring);
      const auto hard = std::ranges::find_if(calls, [](const auto& call) { return bool(call); });
      if (hard == calls.end()) continue;
      ++firsts[**hard];
      ++places[half];
      EXPECT_LE(std::ranges::count_if(calls, [](const auto& call) { return bool(call); }), 2);
      break;
    }
  }
  EXPECT_EQ(firsts.size(), 4U);
  EXPECT_GT(places.size(), 5U);
  EXPECT_LT(places[0], 200);
}

TEST(HardSchedule, ComesAtOnceWhereNothingIsMeasured) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    HardSchedule schedule({0, 1, 2}, seed);
    EXPECT_TRUE(schedule.next(1, Phase::kWarmUp).at(0)) << seed;
    for (int half = 0; half < 100; ++half) schedule.next(1, Phase::kMeasuring);
    EXPECT_FALSE(schedule.is_over());
  }
}

TEST(HardSchedule, ASingleCaseIsKeptOrComesEarly) {
  for (const bool is_early : {false, true}) {
    HardSchedule schedule({7}, 1, is_early);
    EXPECT_EQ(schedule.next(1, Phase::kWarmUp).at(0).has_value(), is_early);
    EXPECT_EQ(schedule.is_over(), is_early);
    if (!is_early) {
      EXPECT_EQ(schedule.next(1, Phase::kClosing).at(0), std::size_t{7});
    }
    EXPECT_TRUE(schedule.is_over());
  }
}

TEST(HardSchedule, WithoutCasesNothingIsHard) {
  HardSchedule schedule({}, 1);
  EXPECT_TRUE(schedule.is_over());
  for (int half = 0; half < 100; ++half)
    EXPECT_FALSE(schedule.next(1, half > 50 ? Phase::kClosing : Phase::kMeasuring).at(0));
}

}  // namespace
}  // namespace kw::gym
