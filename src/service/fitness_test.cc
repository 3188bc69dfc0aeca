#include "service/fitness.h"

#include <vector>

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::milliseconds;

TEST(Fitness, AProbeIsMadeAtTheStartAndAfterASuspicion) {
  int looks = 0, probes = 0;
  Fitness fitness({.look = [&]() -> Status {
                     ++looks;
                     return {};
                   },
                   .probe = [&](const std::stop_token&) -> Status {
                     ++probes;
                     return {};
                   }});
  const auto never = [](const Status&) { ADD_FAILURE(); };
  EXPECT_TRUE(fitness.wait({}, never));
  EXPECT_TRUE(fitness.wait({}, never));
  EXPECT_EQ(std::pair(looks, probes), std::pair(2, 1));
  fitness.suspect();
  EXPECT_TRUE(fitness.wait({}, never));
  EXPECT_EQ(probes, 2);
}

TEST(Fitness, AnUnfitMachineIsLookedAtAgainUntilItIsFit) {
  int probes = 0;
  std::vector<bool> told;
  Fitness fitness({.probe = [&](const std::stop_token&) -> Status {
                     if (++probes < 4) return fail(ErrorCode::kInternal, "wrong verdict");
                     return {};
                   },
                   .first_pause = milliseconds(1),
                   .longest_pause = milliseconds(2)});
  EXPECT_TRUE(fitness.wait({}, [&](const Status& found) { told.push_back(found.has_value()); }));
  EXPECT_EQ(told, (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(probes, 4);
}

TEST(Fitness, AStopEndsTheQuarantine) {
  std::stop_source stop;
  Fitness fitness({.look = []() -> Status { return fail(ErrorCode::kUnavailable, "no disk"); }});
  int told = 0;
  EXPECT_FALSE(fitness.wait(stop.get_token(), [&](const Status& found) {
    EXPECT_EQ(found.error().message(), "no disk");
    ++told;
    stop.request_stop();
  }));
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace kw::service
