#include "gym/checker/null_launch.h"

#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::microseconds;

NullLaunches of_walls(const std::vector<int>& walls) {
  std::vector<NullLaunch> launches;
  for (int wall : walls)
    launches.push_back({microseconds(wall), microseconds(1), microseconds(wall / 2)});
  return null_launches_of(launches);
}

TEST(NullLaunch, OneDisturbedLaunchChangesNothing) {
  NullLaunches found = of_walls({60, 58, 4000, 61, 59});
  EXPECT_EQ(found.median.wall, microseconds(60));
  EXPECT_EQ(found.median.cpu_time, microseconds(30));
  EXPECT_EQ(found.median.waited, microseconds(1));
  EXPECT_TRUE(found.steady);
}

TEST(NullLaunch, MostOfThemDisturbedIsNoMeasure) {
  EXPECT_FALSE(of_walls({60, 900, 4000, 1200, 59}).steady);
  EXPECT_TRUE(of_walls({60, 119, 118, 117, 59}).steady);
}

TEST(NullLaunch, LesserOfEach) {
  NullLaunch least = lesser({microseconds(2), microseconds(5), microseconds(1)},
                            {microseconds(3), microseconds(4), microseconds(2)});
  EXPECT_EQ(least.wall, microseconds(2));
  EXPECT_EQ(least.waited, microseconds(4));
  EXPECT_EQ(least.cpu_time, microseconds(1));
}

}  // namespace
}  // namespace kw::gym
