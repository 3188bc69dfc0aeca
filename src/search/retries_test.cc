#include "search/retries.h"

#include <gtest/gtest.h>

namespace kw::search {
namespace {

TEST(Retries, PausesDoubleUpToAMost) {
  const Retries retries{100, 1, 7};
  for (int made = 1; made < 100; ++made) {
    const double whole = made < 7 ? 1 << (made - 1) : Retries::kMaxSeconds;
    const double pause = retries.pause("p", 0, made);
    EXPECT_GE(pause, whole / 2) << made;
    EXPECT_LE(pause, whole) << made;
  }
  EXPECT_NE(retries.pause("p", 0, 1), retries.pause("p", 1, 1));  // not all come back together
  EXPECT_EQ(retries.pause("p", 0, 1), retries.pause("p", 0, 1));
  EXPECT_GE((Retries{2, 300, 7}).pause("p", 0, 1), 150);  // the first is what was asked for
  EXPECT_EQ((Retries{2, 0, 7}).pause("p", 0, 1), 0);
}

TEST(Retries, AsManyAsTriesSay) {
  const Retries retries{3, 1, 7};
  EXPECT_TRUE(retries.more_after(2));
  EXPECT_FALSE(retries.more_after(3));
}

}  // namespace
}  // namespace kw::search
