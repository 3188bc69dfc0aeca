// Tests of the cores that judgements get.
#include "gym/supervisor/core_plan.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <sched.h>

namespace kw::gym {
namespace {

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

TEST(PlanCores, TimedCallsAreOnTheHighestAndTheCheckerOnOthers) {
  const std::vector<int> cores = own_cores();
  for (int again = 0; again < 2; ++again) {
    const CorePlan plan = plan_cores(1, TimedPlace{});
    EXPECT_EQ(plan.executor, std::vector<int>{cores.back()});
    EXPECT_EQ(plan.checker, std::vector<int>(cores.begin(), cores.end() - 1));
  }
  EXPECT_EQ(plan_cores(1 << 20, TimedPlace{}).executor, cores);
}

TEST(PlanCores, GpusThatAreTimedBesideEachOtherShareNoCore) {
  using Cores = std::vector<int>;
  const Cores cores = {2, 3, 5, 7, 8, 9, 10, 11};
  CorePlan plan = timed_cores(cores, 2, {0, 3});
  EXPECT_EQ(plan.executor, (Cores{10, 11}));
  EXPECT_EQ(plan.checker, (Cores{2, 3}));
  plan = timed_cores(cores, 2, {2, 3});
  EXPECT_EQ(plan.executor, (Cores{5, 7}));
  EXPECT_EQ(plan.checker, (Cores{2, 3}));
  // No core is left for the checker alone.
  plan = timed_cores(cores, 2, {1, 4});
  EXPECT_EQ(plan.executor, (Cores{8, 9}));
  EXPECT_EQ(plan.checker, (Cores{2, 3, 5, 7, 10, 11}));
  // Too few cores for all: each has the highest.
  plan = timed_cores(cores, 3, {2, 3});
  EXPECT_EQ(plan.executor, (Cores{9, 10, 11}));
  EXPECT_EQ(plan.checker, (Cores{2, 3, 5, 7, 8}));
}

TEST(PlanCores, UntimedJudgementsShareAllCores) {
  const std::vector<int> cores = own_cores();
  std::map<int, int> judgements;
  for (std::size_t i = 0; i < 3 * cores.size(); ++i) {
    CorePlan plan = plan_cores(1, std::nullopt);
    ASSERT_EQ(plan.executor.size(), 1U);
    ++judgements[plan.executor[0]];
    plan.checker.push_back(plan.executor[0]);
    std::sort(plan.checker.begin(), plan.checker.end());
    EXPECT_EQ(plan.checker, cores);
  }
  EXPECT_EQ(judgements.size(), cores.size());
  for (int core : cores) EXPECT_EQ(judgements[core], 3) << core;

  std::vector<int> wide = plan_cores(1 << 20, std::nullopt).executor;
  std::sort(wide.begin(), wide.end());
  EXPECT_EQ(wide, cores);
}

}  // namespace
}  // namespace kw::gym
