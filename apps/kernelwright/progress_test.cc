// The status line under a clock set by hand.
#include "kernelwright/progress.h"

#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

struct Watched {
  StringConsole console;
  std::chrono::nanoseconds time{0};
  ProgressView view{console, [this] { return std::chrono::steady_clock::time_point(time); }};

  std::string drawn() { return std::exchange(console.err_text, ""); }
  void judge(task::Outcome outcome = task::Outcome::kPassed) {
    view.judged(fake_verdict({}, outcome));
  }
};

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Progress, TerminalLineHasCountRateAndTimeLeft) {
  Watched w;
  w.console.terminal = true;
  w.view.begin(11, 1, 1);
  EXPECT_EQ(w.drawn(), "\r\x1b[K1/11, 1 passed");
  w.time += seconds(2);
  w.judge();
  EXPECT_EQ(w.drawn(), "\r\x1b[K2/11, 2 passed, 30.0/min, 18s left")
      << "what an earlier run judged does not count for the rate";
  w.time += milliseconds(50);
  w.judge(task::Outcome::kWrongValue);
  EXPECT_EQ(w.drawn(), "") << "redrawn at most ten times a second";
  w.time += milliseconds(50);
  gym::EvalRequest request;
  request.candidate.name = "evil\x1b[31m";
  w.view.stage(request, "compile");
  EXPECT_EQ(w.drawn(), "\r\x1b[K3/11, 2 passed, 57.1/min, 9s left  compile evil?[31m");
  w.view.clear();
  EXPECT_EQ(w.drawn(), "\r\x1b[K");
  w.view.clear();
  EXPECT_EQ(w.drawn(), "");
}

TEST(Progress, TerminalLineFits) {
  Watched w;
  w.console.terminal = true;
  w.console.columns = 24;
  w.view.begin(2, 0, 0);
  gym::EvalRequest request;
  request.candidate.name = std::string(60, 'x');
  w.time += seconds(1);
  w.drawn();
  w.view.stage(request, "check");
  std::string line = "0/2, 0 passed  check...";
  EXPECT_EQ(line.size(), 23U) << "the last column stays free: some terminals break the line there";
  EXPECT_EQ(w.drawn(), "\r\x1b[K" + line);
  w.console.columns = 23;
  w.time += seconds(1);
  w.view.stage(request, "check");
  EXPECT_EQ(w.drawn(), "\r\x1b[K0/2, 0 passed  chec...");
}

TEST(Progress, PlainLinesNowAndThen) {
  Watched w;
  w.view.begin(100, 0, 0);
  EXPECT_EQ(w.drawn(), "0/100, 0 passed\n");
  for (int i = 0; i < 4; ++i) {
    w.time += seconds(1);
    w.judge();
  }
  EXPECT_EQ(w.drawn(), "");
  w.time += seconds(1);
  w.judge();
  EXPECT_EQ(w.drawn(), "5/100, 5 passed, 1.0/s, 1m35s left\n");
  w.view.stage({}, "compile");
  w.view.clear();
  EXPECT_EQ(w.drawn(), "");
}

TEST(Progress, LastOneIsAlwaysShownAndASingleOneNever) {
  Watched w;
  w.view.begin(2, 0, 0);
  w.judge();
  w.view.failed();
  EXPECT_EQ(w.drawn(), "0/2, 0 passed\n2/2, 1 passed\n");
  w.view.begin(1, 0, 0);
  w.judge();
  EXPECT_EQ(w.drawn(), "");
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(seconds(0)), "0s");
  EXPECT_EQ(duration_text(seconds(200)), "3m20s");
  EXPECT_EQ(duration_text(seconds(7500)), "2h05m");
}

}  // namespace
}  // namespace kw::front
