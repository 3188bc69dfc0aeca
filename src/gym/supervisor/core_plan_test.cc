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
    const CorePlan plan = plan_cores(1, true);
    EXPECT_EQ(plan.executor, std::vector<int>{cores.back()});
    EXPECT_EQ(plan.checker, std::vector<int>(cores.begin(), cores.end() - 1));
  }
  EXPECT_EQ(plan_cores(1 << 20, true).executor, cores);
}

TEST(PlanCores, UntimedJudgementsShareAllCores) {
  const std::vector<int> cores = own_cores();
  std::map<int, int> judgements;
  for (std::size_t i = 0; i < 3 * cores.size(); ++i) {
    CorePlan plan = plan_cores(1, false);
    ASSERT_EQ(plan.executor.size(), 1U);
    ++judgements[plan.executor[0]];
    plan.checker.push_back(plan.executor[0]);
    std::sort(plan.checker.begin(), plan.checker.end());
    EXPECT_EQ(plan.checker, cores);
  }
  EXPECT_EQ(judgements.size(), cores.size());
  for (int core : cores) EXPECT_EQ(judgements[core], 3) << core;

  std::vector<int> wide = plan_cores(1 << 20, false).executor;
  std::sort(wide.begin(), wide.end());
  EXPECT_EQ(wide, cores);
}

}  // namespace
}  // namespace kw::gym
