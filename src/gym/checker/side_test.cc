// Starting, calibrating and launching, and the words for how an executor ended.
#include "gym/checker/side.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ExecutorScript;
using testing::FakeWorkload;

// An executor whose null launches take these times, one after the other.
class NullTimes final : public Executor {
 public:
  explicit NullTimes(std::vector<int> us, LaunchEnd end = LaunchEnd::kDone)
      : us_(std::move(us)), end_(end) {}
  Result<LaunchResult> load(std::chrono::nanoseconds) override { return LaunchResult{}; }
  Result<LaunchResult> prepare(std::chrono::nanoseconds timeout) override {
    prepare_timeout = timeout;
    return LaunchResult{};
  }
  Result<LaunchResult> launch(std::span<const std::uint32_t>,
                              std::chrono::nanoseconds timeout) override {
    launch_timeouts.push_back(timeout);
    return LaunchResult{};
  }
  Result<LaunchResult> null_launch(std::chrono::nanoseconds) override {
    LaunchResult result;
    result.end = end_;
    result.wall = microseconds(us_[calls++ % us_.size()]);
    return result;
  }
  Style style() const override { return Style::kDestinationPassing; }
  OutputReport report(std::uint32_t, std::uint32_t) const override { return {}; }
  std::optional<KernelLaunches> kernel_launches() const override { return std::nullopt; }
  bool is_still_between_launches() const override { return true; }
  ExecutorEnd end() override { return {}; }

  std::size_t calls = 0;
  std::chrono::nanoseconds prepare_timeout{0};
  std::vector<std::chrono::nanoseconds> launch_timeouts;

 private:
  std::vector<int> us_;
  LaunchEnd end_;
};

class SideTest : public ::testing::Test {
 protected:
  Side side(std::unique_ptr<Executor> executor, Compiles compiles = Compiles::kNothing) {
    return {std::move(executor), workload_.memory.candidate(), workload_.signature, compiles,
            workload_.clock};
  }
  static std::chrono::nanoseconds net(const Side& side, std::chrono::nanoseconds wall) {
    LaunchResult launch;
    launch.wall = wall;
    return side.net(launch);
  }
  FakeWorkload workload_;
};

TEST_F(SideTest, CalibratesOnceWhereNullLaunchesAreSteady) {
  auto executor = std::make_unique<NullTimes>(std::vector{60, 61, 59});
  NullTimes& times = *executor;
  Side found = side(std::move(executor));
  ASSERT_TRUE(found.calibrate());
  EXPECT_EQ(times.calls, 11U);
  EXPECT_EQ(found.null_launch(), microseconds(60));
  EXPECT_EQ(workload_.clock.slept, std::chrono::nanoseconds(0));
}

TEST_F(SideTest, CalibratesAgainAfterATimeSliceWhereOthersTakeTheCore) {
  std::vector<int> us(10, 4000);
  us.push_back(60);  // the shortest of the first eleven
  us.insert(us.end(), 11, 70);
  auto executor = std::make_unique<NullTimes>(us);
  NullTimes& times = *executor;
  Side found = side(std::move(executor));
  ASSERT_TRUE(found.calibrate());
  EXPECT_EQ(times.calls, 22U);
  EXPECT_EQ(found.null_launch(), microseconds(70));
  EXPECT_EQ(workload_.clock.slept, milliseconds(5));
}

TEST_F(SideTest, GivesUpAfterFourCalibrationsWithTheLeast) {
  auto executor = std::make_unique<NullTimes>(std::vector{4000, 4100, 60});
  NullTimes& times = *executor;
  Side found = side(std::move(executor));
  ASSERT_TRUE(found.calibrate());
  EXPECT_EQ(times.calls, 44U);
  EXPECT_EQ(found.null_launch(), microseconds(4000));
}

TEST_F(SideTest, ANullLaunchThatFailsTakesNothingOff) {
  Side found = side(std::make_unique<NullTimes>(std::vector{60}, LaunchEnd::kExited));
  ASSERT_TRUE(found.calibrate());
  EXPECT_EQ(found.null_launch(), microseconds(0));
}

TEST_F(SideTest, TheCandidateCannotChooseWhatIsTakenOff) {
  Side candidate = side(std::make_unique<NullTimes>(std::vector{900}));
  Side baseline = side(std::make_unique<NullTimes>(std::vector{60}));
  ASSERT_TRUE(candidate.calibrate());
  ASSERT_TRUE(baseline.calibrate());
  EXPECT_EQ(net(candidate, milliseconds(1)), microseconds(100));
  candidate.limit_null_launch(baseline);
  EXPECT_EQ(net(candidate, milliseconds(1)), microseconds(940));
  EXPECT_EQ(net(candidate, microseconds(20)), std::chrono::nanoseconds(1));
}

TEST_F(SideTest, OnlyATorchCompileMayPrepareForMinutes) {
  for (Compiles compiles : {Compiles::kNothing, Compiles::kAtFirstCall, Compiles::kAtPrepare}) {
    auto executor = std::make_unique<NullTimes>(std::vector{60});
    NullTimes& seen = *executor;
    Side started = side(std::move(executor), compiles);
    StartTimes times;
    ASSERT_FALSE(started.start(times).value());
    EXPECT_EQ(seen.prepare_timeout,
              std::chrono::seconds(compiles == Compiles::kAtPrepare ? 600 : 10));
  }
}

TEST_F(SideTest, OnlyTheFirstCallMayCompile) {
  const std::uint32_t set = 0;
  for (Compiles compiles : {Compiles::kNothing, Compiles::kAtFirstCall, Compiles::kAtPrepare}) {
    auto executor = std::make_unique<NullTimes>(std::vector{60});
    NullTimes& seen = *executor;
    Side called = side(std::move(executor), compiles);
    LaunchResult result;
    for (int limit : {2, 2, 90})
      ASSERT_FALSE(called.launch(std::span(&set, 1), std::chrono::seconds(limit), result).value());
    const int first = compiles == Compiles::kAtFirstCall ? 60 : 2;
    EXPECT_EQ(seen.launch_timeouts,
              (std::vector<std::chrono::nanoseconds>{
                  std::chrono::seconds(first), std::chrono::seconds(2), std::chrono::seconds(90)}));
  }
}

TEST_F(SideTest, CallTimeout) {
  EXPECT_EQ(call_timeout(milliseconds(1)), std::chrono::seconds(2));
  EXPECT_EQ(call_timeout(milliseconds(200)), std::chrono::seconds(4));
}

// A failed start names its step and whose fault it is.
TEST_F(SideTest, AFaultSaysWhereItHappened) {
  sandbox::Exit exit;
  exit.code = 3;
  sandbox::Exit abort;
  abort.signalled = true;
  abort.code = 6;
  struct Start {
    LaunchEnd load, prepare;
    ExecutorEnd end;
    const char* message;
  };
  const LaunchEnd done = LaunchEnd::kDone;
  const Start starts[] = {
      {LaunchEnd::kTimeout, done, {}, "no answer in time during loading"},
      {LaunchEnd::kExited,
       done,
       {.exit = exit},
       "the process ended with exit code 3 during loading"},
      {LaunchEnd::kProtocol, done, {}, "the shared page was written out of turn during loading"},
      {done,
       LaunchEnd::kFailed,
       {.failure = Failure::kException},
       "it raised an exception during prepare"},
      {done, LaunchEnd::kExited, {.exit = abort}, "abort() during prepare"},
      {done, LaunchEnd::kFailed, {}, "it failed during prepare"},
      {LaunchEnd::kFailed,
       done,
       {.failure = Failure::kLaunchRefused},
       "the GPU refused to start a kernel (its grid, block, cluster or shared memory) during "
       "loading"},
  };
  for (const Start& start : starts) {
    ExecutorScript script;
    script.load = start.load;
    script.prepare = start.prepare;
    script.end = start.end;
    StartTimes times;
    auto fault = workload_.candidate(script)->start(times).value();
    ASSERT_TRUE(fault) << start.message;
    EXPECT_EQ(fault->message, start.message);
  }
}

// Each failure that a GPU's executor tells has an outcome of its own.
TEST_F(SideTest, TheGpusFailuresAreTold) {
  const std::pair<Failure, task::Outcome> ends[] = {
      {Failure::kKernelFault, task::Outcome::kRuntimeError},
      {Failure::kLaunchRefused, task::Outcome::kRuntimeError},
      {Failure::kDeviceMemory, task::Outcome::kMemoryLimit},
      {Failure::kKernelTimeout, task::Outcome::kTimeout},
  };
  std::set<std::string> messages;
  for (const auto& [failure, outcome] : ends) {
    ExecutorScript script;
    script.load = LaunchEnd::kFailed;
    script.end.failure = failure;
    StartTimes times;
    auto fault = workload_.candidate(script)->start(times).value();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->outcome, outcome) << fault->message;
    messages.insert(fault->message);
  }
  EXPECT_EQ(messages.size(), std::size(ends));
}

}  // namespace
}  // namespace kw::gym
