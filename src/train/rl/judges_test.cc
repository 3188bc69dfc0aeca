#include "train/rl/judges.h"

#include <atomic>
#include <latch>
#include <string>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

TEST(Judges, AnswersOfAnEarlierStepGoFirst) {
  std::string order;
  std::latch all_posted(1), all_judged(4);
  Judges judges(1);
  const auto note = [&](char name) {
    return [&, name](const std::stop_token&) {
      order += name;
      all_judged.count_down();
    };
  };
  std::latch first_runs(1);
  judges.post(7, [&](const std::stop_token&) {
    first_runs.count_down();
    all_posted.wait();
  });
  first_runs.wait();
  judges.post(9, note('c'));
  judges.post(8, note('a'));
  judges.post(9, note('d'));
  judges.post(8, note('b'));
  all_posted.count_down();
  all_judged.wait();
  EXPECT_EQ(order, "abcd");
}

TEST(Judges, TheirEndStopsWhatRunsAndDropsTheRest) {
  std::atomic<int> begun{0};
  {
    Judges judges(2);
    std::latch both(2);
    for (int i = 0; i < 5; ++i)
      judges.post(0, [&](const std::stop_token& stop) {
        ++begun;
        both.count_down();
        while (!stop.stop_requested()) std::this_thread::yield();
      });
    both.wait();
  }
  EXPECT_EQ(begun, 2);
}

TEST(Judges, CountTheTimeOfAllAndOfAny) {
  std::latch both(2), seen(1);
  std::latch done(2);
  Judges judges(2);
  EXPECT_EQ(judges.times().any, 0);
  for (int i = 0; i < 2; ++i)
    judges.post(0, [&](const std::stop_token&) {
      both.count_down();
      seen.wait();
      done.count_down();
    });
  both.wait();
  const JudgeTimes before = judges.times();
  while (judges.times().any < before.any + 1e-3) std::this_thread::yield();
  const JudgeTimes now = judges.times();
  EXPECT_NEAR(now.sum - before.sum, 2 * (now.any - before.any), 1e-9);
  seen.count_down();
  done.wait();
}

}  // namespace
}  // namespace kw::train
