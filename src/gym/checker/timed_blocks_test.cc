// Tests of the choice of audited blocks and of the order in which the two sides are launched.
#include "gym/checker/timed_blocks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"
#include "gym/measure/processor_time.h"

namespace kw::gym {
namespace {

using testing::ExecutorScript;
using testing::FakeWorkload;
using testing::ScriptedCall;

TEST(AuditSchedule, OneOfFiveThenOneOfFifteenThenOneOfSixty) {
  std::map<int, int> firsts;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    AuditSchedule schedule(seed);
    std::vector<std::int64_t> due;
    for (std::int64_t block = 0; block < 80; ++block)
      if (schedule.due(block)) due.push_back(block);
    ASSERT_EQ(due.size(), 3U);
    EXPECT_LT(due[0], 5);
    EXPECT_TRUE(due[1] >= 5 && due[1] < 20);
    EXPECT_GE(due[2], 20);
    ++firsts[static_cast<int>(due[0])];
  }
  EXPECT_EQ(firsts.size(), 5U);  // none of the five can be known beforehand
}

struct Launch {
  bool is_candidate;
  const HostTensors* set;
  float x;                   // the first input
  std::vector<float> all_x;  // those of all sets
};

std::vector<Launch> launches_of(FakeWorkload& workload, bool device_clock = false) {
  auto seen = std::make_shared<std::vector<Launch>>();
  auto recording = [seen, device_clock, &workload](bool is_candidate) {
    ExecutorScript script;
    script.device_clock = device_clock;
    script.kernel = [seen, is_candidate, &workload](const ScriptedCall& call) {
      testing::compute_workload(call);
      Launch launch{is_candidate, &call.inputs, call.x()[0], {}};
      for (const auto& set : workload.sets) {
        launch.all_x.emplace_back();
        std::memcpy(&launch.all_x.back(), set->view(0).value().data(), sizeof(float));
      }
      seen->push_back(std::move(launch));
    };
    script.on_launch = [is_candidate, device_clock](int launch, LaunchResult& result) {
      if (!is_candidate) return;
      result.wall *= 1 + launch % 7;  // the interval stays wide: the time ends the measurement
      result.cpu_time = result.wall;
      if (device_clock) result.device_time = result.device_span = result.wall;
    };
    return script;
  };
  workload.learn_from_oracle();
  workload.start_baseline(recording(false));
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  auto candidate = workload.candidate(recording(true));
  StartTimes times;
  EXPECT_FALSE(candidate->start(times).value());
  FirstFault fault;
  JudgedCalls calls(context, *candidate, fault);
  TimedBlocks blocks(context, *candidate, calls, fault);
  EXPECT_TRUE(blocks.run());
  EXPECT_FALSE(fault.found());
  return *seen;
}

TEST(TimedBlocks, TheHostIsLeasedBlockByBlockAndAGpuForLonger) {
  FakeWorkload host, gpu;
  const std::size_t on_host = launches_of(host).size(), on_gpu = launches_of(gpu, true).size();
  EXPECT_EQ(host.lease.taken, 1 + static_cast<int>(on_host) / 4);  // and once to calibrate
  EXPECT_GT(gpu.lease.taken, 3);                                   // others get their turn
  EXPECT_LT(gpu.lease.taken, static_cast<int>(on_gpu) / 20);
  EXPECT_EQ(host.lease.given_back, host.lease.taken);
  EXPECT_EQ(gpu.lease.given_back, gpu.lease.taken);
}

TEST(TimedBlocks, AbbaOnFreshInputsInOtherSetsEveryTime) {
  FakeWorkload workload;
  workload.goal.max_seconds = 0.2;
  const std::vector<Launch> launches = launches_of(workload);
  ASSERT_GE(launches.size(), 100U);
  std::set<bool> firsts;
  std::set<float> values;
  for (std::size_t i = 0; i + 3 < launches.size(); i += 4) {
    const bool first = launches[i].is_candidate;
    firsts.insert(first);
    EXPECT_EQ(launches[i + 1].is_candidate, !first);
    EXPECT_EQ(launches[i + 2].is_candidate, !first);
    EXPECT_EQ(launches[i + 3].is_candidate, first);
    // Both sides of a pair see the same inputs.
    for (std::size_t pair : {i, i + 2}) {
      EXPECT_EQ(launches[pair].set, launches[pair + 1].set);
      EXPECT_EQ(launches[pair].x, launches[pair + 1].x);
      values.insert(launches[pair].x);
    }
    EXPECT_NE(launches[i].set, launches[i + 2].set);
    if (i >= 4) {
      EXPECT_NE(launches[i].set, launches[i - 4].set);
    }
  }
  EXPECT_EQ(firsts.size(), 2U);  // either side may be the first
  EXPECT_EQ(values.size(), launches.size() / 2);
}

// No launch can compute a later one along with it.
TEST(TimedBlocks, InputsAppearAfterTheLaunchesBeforeTheirs) {
  for (const bool device_clock : {false, true}) {
    FakeWorkload workload;
    workload.goal.max_seconds = 0.2;
    workload.reference_time = std::chrono::microseconds(300);  // several launches a half
    const std::vector<Launch> launches = launches_of(workload, device_clock);
    ASSERT_GE(launches.size(), 100U);
    for (std::size_t i = 2; i < launches.size(); ++i) {
      for (std::size_t before = i - i % 2 - 2; before < i - i % 2; ++before)
        EXPECT_EQ(std::ranges::count(launches[before].all_x, launches[i].x), 0) << i;
    }
  }
}

TEST(TimedBlocks, ShortCallsAreLaunchedSeveralTimesAHalf) {
  FakeWorkload workload;
  workload.reference_time = std::chrono::microseconds(300);
  const std::vector<Launch> launches = launches_of(workload);
  std::set<const HostTensors*> sets;
  for (std::size_t i = 0; i < 12; ++i)
    sets.insert(launches[i].set);  // a block of three pairs a half
  EXPECT_EQ(sets.size(), 6U);
}

// The median speedup of the reference itself, where somebody loads the machine for the first 1.2 s.
double speedup_under_load(bool is_interleaved) {
  SessionOptions options;
  options.mechanisms.interleaving = is_interleaved;
  FakeWorkload workload(options);
  workload.goal.max_seconds = 4;
  const auto until = workload.clock.now() + std::chrono::milliseconds(1200);
  ExecutorScript script;
  script.wall = std::chrono::milliseconds(2);
  script.kernel = testing::compute_workload;
  script.on_launch = [&](int, LaunchResult& result) {
    if (workload.clock.now() < until) result.wall *= 2;
    result.cpu_time = result.wall;
  };
  workload.learn_from_oracle();
  workload.start_baseline(script);
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  auto candidate = workload.candidate(script);
  StartTimes times;
  EXPECT_FALSE(candidate->start(times).value());
  FirstFault fault;
  JudgedCalls calls(context, *candidate, fault);
  TimedBlocks blocks(context, *candidate, calls, fault);
  EXPECT_TRUE(blocks.run());
  EXPECT_FALSE(fault.found());
  std::vector<double> speedups;
  const Measured& measured = blocks.measured();
  for (std::size_t i = 0; i < measured.samples.candidate_ns().size(); ++i)
    speedups.push_back(measured.samples.reference_ns()[i] / measured.samples.candidate_ns()[i]);
  EXPECT_FALSE(speedups.empty());
  std::ranges::sort(speedups);
  return speedups.empty() ? 0 : speedups[speedups.size() / 2];
}

TEST(TimedBlocks, ALoadedMachineSlowsBothSidesWhereTheyAreInterleaved) {
  EXPECT_NEAR(speedup_under_load(true), 1, 1e-9);
  EXPECT_GT(speedup_under_load(false), 1.5);
}

// One call of an executor on a busy machine: others have its core for 3 ms while it is ready.
struct BusyCall {
  std::chrono::nanoseconds computes{0}, sleeps{0};
  std::chrono::nanoseconds helper{0};  // another thread of it computes, while the first one spins
};

ExecutorScript busy_script(BusyCall call) {
  constexpr std::chrono::nanoseconds kOthers = std::chrono::milliseconds(3);
  ExecutorScript script;
  script.kernel = testing::compute_workload;
  script.on_launch = [=](int, LaunchResult& result) {
    const ProcessorUse use = {.wall = call.computes + call.sleeps + call.helper + kOthers,
                              .all_ran = call.computes + call.helper,
                              .first_ran = call.computes,
                              .first_waited = call.helper + kOthers};
    result.wall = use.wall;
    result.cpu_time = use.all_ran;
    result.waited = use.first_waited;
    result.processor_time = processor_time(use);
  };
  return script;
}

// The baseline computes for 4 ms.
Measured measured_on_busy_machine(BusyCall call) {
  FakeWorkload workload;
  workload.goal.max_seconds = 1;
  workload.learn_from_oracle();
  workload.start_baseline(busy_script({.computes = std::chrono::milliseconds(4)}));
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  auto candidate = workload.candidate(busy_script(call));
  StartTimes times;
  EXPECT_FALSE(candidate->start(times).value());
  FirstFault fault;
  JudgedCalls calls(context, *candidate, fault);
  TimedBlocks blocks(context, *candidate, calls, fault);
  EXPECT_TRUE(blocks.run());
  EXPECT_FALSE(fault.found());
  return blocks.measured();
}

TEST(TimedBlocks, OnABusyMachineTheProcessorsClockCounts) {
  const Measured measured = measured_on_busy_machine({.computes = std::chrono::milliseconds(2)});
  EXPECT_EQ(measured.samples.clock(), task::Clock::kProcessor);
  EXPECT_FALSE(measured.samples.is_noisy());
  ASSERT_FALSE(measured.samples.candidate_ns().empty());
  EXPECT_DOUBLE_EQ(measured.samples.candidate_ns()[0], 2e6);
  EXPECT_DOUBLE_EQ(measured.samples.reference_ns()[0], 4e6);
}

TEST(TimedBlocks, NobodyIsFastByTheProcessorsClockWhoSleepsOrHasHelp) {
  for (const BusyCall& call :
       {BusyCall{.computes = std::chrono::milliseconds(1), .sleeps = std::chrono::milliseconds(3)},
        BusyCall{.computes = std::chrono::milliseconds(1),
                 .helper = std::chrono::milliseconds(3)}}) {
    const Measured measured = measured_on_busy_machine(call);
    EXPECT_EQ(measured.samples.clock(), task::Clock::kProcessor);
    ASSERT_FALSE(measured.samples.candidate_ns().empty());
    EXPECT_DOUBLE_EQ(measured.samples.candidate_ns()[0], 4e6);
  }
}

// Both sides on a GPU, whose clock says 500 us less than the checker's for the baseline and
// `hidden` less for the candidate.
Measured measured_on_gpu(std::chrono::nanoseconds hidden) {
  SessionOptions options;
  FakeWorkload workload(options);
  workload.goal.max_seconds = 0.05;
  auto script = [&](std::chrono::nanoseconds less) {
    ExecutorScript out;
    out.kernel = testing::compute_workload;
    out.plan_call.emplace();
    out.on_launch = [less, null = out.null_wall](int, LaunchResult& result) {
      result.device_span = result.device_time = result.wall - null - less;
    };
    return out;
  };
  workload.learn_from_oracle();
  workload.start_baseline(script(std::chrono::microseconds(500)));
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  auto candidate = workload.candidate(script(hidden));
  StartTimes times;
  EXPECT_FALSE(candidate->start(times).value());
  FirstFault fault;
  JudgedCalls calls(context, *candidate, fault);
  TimedBlocks blocks(context, *candidate, calls, fault);
  EXPECT_TRUE(blocks.run());
  EXPECT_FALSE(fault.found());
  return blocks.measured();
}

TEST(TimedBlocks, AGpusClockCountsWhereTheCheckersAgrees) {
  const Measured honest = measured_on_gpu(std::chrono::microseconds(10));
  ASSERT_FALSE(honest.samples.candidate_ns().empty());
  EXPECT_DOUBLE_EQ(honest.samples.candidate_ns()[0], 990'000);
  EXPECT_DOUBLE_EQ(honest.samples.reference_ns()[0], 500'000);  // it copies its results besides
  EXPECT_EQ(honest.samples.filter().dropped(), 0U);
  const Measured hiding = measured_on_gpu(std::chrono::microseconds(250));
  EXPECT_TRUE(hiding.samples.candidate_ns().empty());
  EXPECT_GT(hiding.samples.filter().dropped_by(DisturbanceKind::kClocks), 0U);
}

}  // namespace
}  // namespace kw::gym
