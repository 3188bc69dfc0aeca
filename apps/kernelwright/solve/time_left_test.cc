// The time that a search still takes, by hand.
#include "kernelwright/solve/time_left.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

runlog::Attempt finished() {
  runlog::Attempt out;
  out.judged = runlog::Judged{};
  return out;
}

constexpr std::int64_t kNow = 100'000;

// 100 s in: one problem has ended after 2 of 10 attempts, one has been searched for 20 s and has 4,
// one has not begun.
runlog::Run three() {
  runlog::Run out;
  out.problems.resize(3);
  out.problems[0].started = out.problems[1].started = true;
  out.problems[0].ended = runlog::ProblemEnded{};
  out.problems[0].attempts = {finished(), finished()};
  out.problems[1].searching = true;
  out.problems[1].begun_ms = 85'000;
  out.problems[1].earlier_ms = 5'000;  // in another session
  out.problems[1].attempts = {finished(), finished(), finished(), finished(), runlog::Attempt{}};
  return out;
}

search::Settings settings() {
  search::Settings out;
  out.samples = 10;
  out.jobs = 1;
  return out;
}

TEST(TimeLeft, ByThePaceOfThisSession) {
  EXPECT_EQ(seconds_left(three(), settings(), {}, kNow), std::nullopt);
  // 6 of the second and 10 of the third, 5 s each: the first's other 8 never come.
  EXPECT_DOUBLE_EQ(seconds_left(three(), settings(), {30, 6}, kNow).value(), 80);
}

TEST(TimeLeft, NotBeyondSecondsOfEachProblem) {
  search::Settings s = settings();
  s.seconds = 30;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {30, 6}, kNow).value(), 10 + 30);
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {}, kNow).value(), 40);
  s.jobs = 2;  // the third beside the second
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {}, kNow).value(), 30);
  s.seconds = 10;  // the second's are over
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {}, kNow).value(), 10);
}

TEST(TimeLeft, GoesDownWhileNothingHappens) {
  search::Settings s = settings();
  s.seconds = 30;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {}, kNow + 4000).value(), 6 + 30);
  s.seconds = 0;
  s.total_seconds = 112;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {}, kNow + 4000).value(), 8);
}

TEST(TimeLeft, NotBeyondTheRunsSeconds) {
  search::Settings s = settings();
  s.total_seconds = 112;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {30, 6}, kNow).value(), 12);
  s.total_seconds = 60;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {30, 6}, kNow).value(), 0);
  s.total_seconds = 1000;
  EXPECT_DOUBLE_EQ(seconds_left(three(), s, {30, 6}, kNow).value(), 80);
}

TEST(TimeLeft, NoneWhenAllHaveEnded) {
  runlog::Run run = three();
  for (auto& tree : run.problems) tree.ended = runlog::ProblemEnded{};
  search::Settings s = settings();
  s.total_seconds = 1000;
  EXPECT_EQ(seconds_left(run, s, {30, 6}, kNow), std::nullopt);
}

}  // namespace
}  // namespace kw::front
