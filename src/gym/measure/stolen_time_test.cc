// Stolen time by texts of /proc/stat.
#include "gym/measure/stolen_time.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::milliseconds;

TEST(StolenTime, IsTheEighthNumberInTicks) {
  const char* const stat = "cpu  1 2 3 4 5 6 7 25 9 10\ncpu0 1 2 3 4 5 6 7 8\n";
  EXPECT_EQ(stolen_time_in(stat, 100), milliseconds(250));
  EXPECT_EQ(stolen_time_in(stat, 1000), milliseconds(25));
}

TEST(StolenTime, IsNothingWhereTheKernelDoesNotTellIt) {
  for (const char* text : {"", "cpu", "cpu  1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8", "intr 1 2 3"})
    EXPECT_EQ(stolen_time_in(text, 100).count(), 0) << text;
}

}  // namespace
}  // namespace kw::gym
