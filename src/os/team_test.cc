#include "os/team.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace kw::os {
namespace {

TEST(Team, PhasesSeeWhatAllHaveDoneBefore) {
  for (int threads : {1, 2, 5}) {
    Team team(threads);
    ASSERT_EQ(team.size(), threads);
    std::vector<int> written(static_cast<std::size_t>(threads), 0);
    std::atomic<int> wrong = 0;
    for (int round = 1; round <= 200; ++round) {
      team.run([&](int member) {
        for (int phase = 0; phase < 3; ++phase) {
          written[static_cast<std::size_t>(member)] = 3 * round + phase;
          team.barrier();
          for (int one : written) wrong += one != 3 * round + phase ? 1 : 0;
          team.barrier();
        }
      });
    }
    EXPECT_EQ(wrong.load(), 0);
  }
}

TEST(Team, SharesCoverEverythingOnce) {
  for (int threads : {1, 2, 3, 7}) {
    Team team(threads);
    for (std::int64_t count : {0, 1, 5, 8, 100}) {
      std::int64_t next = 0;
      for (int member = 0; member < threads; ++member) {
        Team::Share mine = team.share(member, count, 4);
        EXPECT_EQ(mine.first, next);
        EXPECT_TRUE(mine.last % 4 == 0 || mine.last == count);
        next = mine.last;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Team, EndsWhileItsMembersWait) {
  for (int i = 0; i < 50; ++i) Team team(4);
}

}  // namespace
}  // namespace kw::os
