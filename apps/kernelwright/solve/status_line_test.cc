// The line at the widths of a phone, a usual terminal and a wide one; and that it is drawn again
// while nothing happens.
#include "kernelwright/solve/status_line.h"

#include <gmock/gmock.h>

#include "kernelwright/solve/view.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using ::testing::HasSubstr;

Progress early() {
  Progress out;
  out.counts.attempts = 3;
  out.counts.extracted = out.counts.compiled = out.counts.correct = 2;
  out.counts.usage.completion_tokens = 360;
  out.problems = 1;
  out.most_attempts = 8;
  out.best = task::Speedup{2, 1.9, 2.1};
  out.seconds_left = 45;
  return out;
}

Progress late() {
  Progress out;
  out.counts.attempts = 430;
  out.counts.extracted = 399;
  out.counts.compiled = 388;
  out.counts.correct = 277;
  out.counts.usage.completion_tokens = 912'345;
  out.problems = 154;
  out.ended = 112;
  out.most_attempts = 1232;
  out.best = task::Speedup{14.25, 13.85, 14.63};
  out.best_of = "19_Conv2d_GELU_GlobalAvgPool_of_a_long_name";
  out.seconds_left = 4000;
  return out;
}

TEST(StatusLine, AWideTerminalHasItAll) {
  EXPECT_EQ(status_line(early(), 199),
            "3/8 attempts, 2 extracted, 2 compiled, 2 correct, best 2x (1.9 to 2.1), 360 tokens, "
            "45s left");
  EXPECT_EQ(status_line(late(), 199),
            "112/154 problems, 430/1232 attempts, 399 extracted, 388 compiled, 277 correct, best "
            "14.2x (13.8 to 14.6) (19_Conv2d_GELU_GlobalAvgPool_of_a_long_name), 912.3k tokens, "
            "1h06m left");
}

TEST(StatusLine, AUsualTerminalHasIntervalTokensAndTime) {
  EXPECT_EQ(status_line(early(), 79),
            "3/8, 2 code, 2 built, 2 correct, 2x (1.9 to 2.1), 360 tokens, 45s left");
  EXPECT_EQ(status_line(late(), 79),
            "112/154, 430/1232, 277 correct, 14.2x (13.8 to 14.6), 912.3k tokens, 1h06m left");
  Progress short_of_it = late();
  short_of_it.ended = 12;
  short_of_it.problems = 54;
  short_of_it.most_attempts = 432;
  short_of_it.counts.attempts = 130;
  EXPECT_EQ(status_line(short_of_it, 79),
            "12/54, 130/432, 277 correct, 14.2x (13.8 to 14.6), 912.3k tokens, 1h06m left");
}

TEST(StatusLine, APhoneHasThemToo) {
  EXPECT_EQ(status_line(early(), 39), "3/8 2x (1.9-2.1) 360 45s");
  EXPECT_EQ(status_line(late(), 39), "430/1232 14.2x (13.8-14.6) 912.3k 1h06m");
  for (std::size_t columns = 10; columns < 200; ++columns) {
    EXPECT_LE(status_line(early(), columns).size(), columns);
    EXPECT_LE(status_line(late(), columns).size(), columns);
  }
}

TEST(StatusLine, WhatIsNotKnownIsLeftOut) {
  Progress p = early();
  p.best.reset();
  p.seconds_left.reset();
  p.counts.usage = {};
  EXPECT_EQ(status_line(p, 199), "3/8 attempts, 2 extracted, 2 compiled, 2 correct");
  EXPECT_EQ(status_line(p, 10), "3/8");
}

// One problem that was begun, searched for at most 60 s.
class SolveViewTest : public FrontTest {
 protected:
  SolveViewTest() {
    console.terminal = true;
    happens(0, runlog::RunStarted{"0.1", 1, "now", "solve", {}, {{"p", "p", "h"}}});
    happens(0, runlog::ProblemStarted{"p"});
  }
  void happens(std::int64_t at_ms, runlog::EventBody body) {
    const runlog::Event event{at_ms, std::move(body)};
    ASSERT_TRUE(run.apply(event));
    view.happened(event, run);
  }
  void wait(std::chrono::nanoseconds passed) {
    time += passed;
    console.err_text.clear();
    view.waits(run);
  }

  static search::Settings a_minute() {
    search::Settings out;
    out.seconds = 60;
    return out;
  }

  runlog::Run run;
  runlog::RunFolder run_folder = runlog::RunFolder::create(folder.path() / "run", {}).value();
  SolveView view{console,
                 [this] { return std::chrono::steady_clock::time_point(time); },
                 run_folder,
                 a_minute(),
                 {}};
};

TEST_F(SolveViewTest, TimeGoesOnWhileNothingHappens) {
  wait(std::chrono::seconds(1));
  EXPECT_THAT(console.err_text, HasSubstr("59s left"));
  wait(std::chrono::seconds(1));
  EXPECT_THAT(console.err_text, HasSubstr("58s left"));
  wait(std::chrono::milliseconds(1));  // too soon
  EXPECT_EQ(console.err_text, "");
}

TEST_F(SolveViewTest, WhereNoLineCanBeRedrawnNothingIsSaidTwice) {
  console.terminal = false;
  wait(std::chrono::minutes(1));
  EXPECT_EQ(console.err_text, "");
}

}  // namespace
}  // namespace kw::front
