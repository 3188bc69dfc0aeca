// Trials of a candidate on a GPU's clock: which time counts, and what ends one.
#include "gym/checker/trial.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeWorkload;
using testing::ScriptedCall;

class TrialTest : public ::testing::Test {
 protected:
  void SetUp() override {
    workload_.learn_from_oracle();
    ExecutorScript baseline;
    baseline.on_launch = [this](int, LaunchResult&) { ++baseline_launches_; };
    workload_.start_baseline(baseline);
    script_.kernel = compute_workload;
    script_.device_clock = true;
  }
  Result<Tried> tried() {
    const TurnScope turn = TurnScope::begin(workload_.turn).value();
    JudgingContext context = workload_.context();
    return Trial(context, workload_.candidate(script_)).run();
  }

  FakeWorkload workload_;
  ExecutorScript script_;
  int baseline_launches_ = 0;
};

TEST_F(TrialTest, TheShortestCallButTheFirstCounts) {
  int launches = 0;
  script_.on_launch = [&](int launch, LaunchResult& result) {
    ++launches;
    const std::int64_t ns[] = {1, 500, 300, 400, 900, 350, 600};
    if (launch < 7) result.device_time = std::chrono::nanoseconds(ns[launch]);
  };
  const auto found = tried();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->outcome, task::Outcome::kPassed);
  EXPECT_EQ(found->call_ns, 300);
  EXPECT_EQ(launches, 8);  // the last one is checked, and its time does not count
  EXPECT_EQ(baseline_launches_, 1);
  EXPECT_EQ(workload_.lease.taken, 1);
  EXPECT_EQ(workload_.lease.given_back, 1);
}

TEST_F(TrialTest, OneThatDoesNotLoadHasNoTimeAndNeedsNoLease) {
  script_.load = LaunchEnd::kFailed;
  script_.end.failure = Failure::kLaunchRefused;
  const auto found = tried();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->outcome, task::Outcome::kRuntimeError);
  EXPECT_EQ(found->call_ns, 0);
  EXPECT_EQ(workload_.lease.taken, 0);
}

TEST_F(TrialTest, AFaultEndsItWithTheTimesSoFarAndGivesTheLeaseBack) {
  int launches = 0;
  script_.on_launch = [&](int launch, LaunchResult& result) {
    ++launches;
    if (launch == 3) result.end = LaunchEnd::kTimeout;
  };
  const auto found = tried();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->outcome, task::Outcome::kTimeout);
  EXPECT_EQ(found->call_ns, 1'000'000);
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(baseline_launches_, 0);
  EXPECT_EQ(workload_.lease.given_back, 1);
}

// Only the last call is compared: what is tried out is judged afterwards in any case.
TEST_F(TrialTest, AWrongConfigurationIsWrong) {
  script_.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    call.y()[4] += 1;
  };
  const auto found = tried();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->outcome, task::Outcome::kWrongValue);
  EXPECT_EQ(found->call_ns, 1'000'000);
}

}  // namespace
}  // namespace kw::gym
