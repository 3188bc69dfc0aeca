#include "os/standstill.h"

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace kw::os {
namespace {

TEST(Standstill, BeginsAtOnceWhereNothingWorks) {
  Standstill standstill;
  int stands = 0;
  standstill.ask([&] { ++stands; });
  EXPECT_EQ(stands, 1);
  std::atomic<bool> worked{false};
  std::jthread worker([&] {
    const Standstill::Working working(standstill);
    worked = true;
  });
  EXPECT_FALSE(worked);
  standstill.resume();
  worker.join();
  EXPECT_TRUE(worked);
}

TEST(Standstill, BeginsWhereTheWorkerMayRest) {
  int settled = 0;
  Standstill standstill([&] { ++settled; });
  std::atomic<int> stands = 0;
  std::optional<Standstill::Working> working(standstill);
  standstill.ask([&] { ++stands; });
  EXPECT_EQ(stands, 0);
  std::jthread other([&] {
    while (stands == 0) std::this_thread::yield();
    standstill.resume();
  });
  EXPECT_EQ(settled, 0);
  standstill.rest();  // until the other thread resumes
  EXPECT_EQ(settled, 1);
  EXPECT_EQ(stands, 1);
  other.join();
  standstill.rest();  // nobody asks
  EXPECT_EQ(settled, 1);
}

TEST(Standstill, BeginsAtTheEndOfAPiece) {
  Standstill standstill;
  int stands = 0;
  {
    const Standstill::Working working(standstill);
    standstill.ask([&] { ++stands; });
    EXPECT_EQ(stands, 0);
  }
  EXPECT_EQ(stands, 1);
  standstill.resume();
}

TEST(Standstill, BeginsWhenTheWorkerAndItsHelpersRest) {
  int settled = 0;
  Standstill standstill([&] { ++settled; });
  std::atomic<int> stands = 0;
  std::optional<Standstill::Working> working(standstill);
  std::atomic<bool> helps = false, may_rest = false, goes_on = false;
  std::jthread helper([&] {
    Standstill::Helping helping(standstill);
    helps = true;
    while (!may_rest) std::this_thread::yield();
    helping.rest();
    goes_on = true;
  });
  while (!helps) std::this_thread::yield();
  standstill.ask([&] { ++stands; });
  working.reset();
  EXPECT_EQ(settled, 1);
  EXPECT_EQ(stands, 0);  // the helper goes on
  may_rest = true;
  while (stands == 0) std::this_thread::yield();
  EXPECT_FALSE(goes_on);
  standstill.resume();
  helper.join();
  EXPECT_TRUE(goes_on);
  EXPECT_EQ(settled, 1);
  EXPECT_EQ(standstill.stood().count(), 0);  // only the worker's is counted
}

TEST(Standstill, ARequestThatIsTakenBackIsForgotten) {
  Standstill standstill;
  int stands = 0;
  {
    const Standstill::Working working(standstill);
    standstill.ask([&] { ++stands; });
    standstill.resume();
    standstill.rest();
  }
  EXPECT_EQ(stands, 0);
}

}  // namespace
}  // namespace kw::os
