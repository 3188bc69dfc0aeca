// Tests of a check: the workloads that it opens, what it keeps for the next check, and each
// target's rule.
#include "gym/supervisor/check_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class CheckProblemTest : public ::testing::Test {
 protected:
  CheckProblemTest() { request_.problem = testing::line_problem(); }

  Result<ProblemCheck> check(const std::stop_token& stop = {}) {
    return check_problem(sessions_.context(), admissions_, request_, stop);
  }
  // One more workload, of this many elements, for these targets alone.
  void add_workload(const std::string& uuid, std::int64_t n, std::vector<task::Target> targets) {
    task::Problem& problem = request_.problem;
    task::Workload workload = problem.workloads.at(0);
    workload.uuid = uuid;
    workload.axes = {{"N", n}};
    problem.workloads.push_back(std::move(workload));
    problem.policy.workloads[uuid].targets = std::move(targets);
  }
  static AdmissionFindings passes(const std::string& trivial) {
    AdmissionFindings out;
    out.passing = {trivial};
    return out;
  }
  static AdmissionFindings fails(const std::string& why) {
    AdmissionFindings out;
    out.failure = why;
    out.reference_failed = true;
    return out;
  }
  // The checker of the session that is opened next finds this.
  void expect(const AdmissionFindings& findings) {
    sessions_.will_open.push_back(sessions_.opening(findings));
  }

  testing::FakeSessions sessions_;
  AdmissionCache admissions_{sessions_.roles.folder.path() / "admissions"};
  CheckRequest request_;
};

TEST_F(CheckProblemTest, EachWorkloadIsOpenedOnceAndItsFindingsAreKept) {
  add_workload("v", 512, {task::Target::kCpu});
  expect({});
  expect(passes("zeros"));
  for (int i = 0; i < 2; ++i) {  // the second check opens nothing
    auto found = check();
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_THAT(found->workloads, SizeIs(2));
    EXPECT_EQ(found->workloads[0].uuid, "w");
    EXPECT_EQ(found->workloads[1].uuid, "v");
    EXPECT_THAT(found->workloads[1].findings.passing, ElementsAre("zeros"));
    EXPECT_EQ(sessions_.opened, 2);
  }
}

TEST_F(CheckProblemTest, WorkloadsOfAGpuAreNamedAndNotOpened) {
  add_workload("large", 1 << 20, {task::Target::kCuda});
  expect({});
  auto found = check();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->not_checked, ElementsAre("large"));
  EXPECT_EQ(sessions_.opened, 1);
}

TEST_F(CheckProblemTest, AFailureIsCheckedAgain) {
  expect(fails("run: no module named y"));
  expect({});
  auto first = check();
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_THAT(first->targets, SizeIs(1));
  ASSERT_TRUE(first->targets[0].quarantine);
  EXPECT_EQ(first->targets[0].quarantine->cause, QuarantineCause::kReferenceFailed);
  auto second = check();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_FALSE(second->targets.at(0).quarantine);
  EXPECT_EQ(sessions_.opened, 2);
}

// It says nothing about the limits of a judgement, so nobody else may read it.
TEST_F(CheckProblemTest, AFailureUnderOwnLimitsIsNotKept) {
  request_.memory_bytes = 1U << 20U;
  expect(fails("out of memory"));
  ASSERT_TRUE(check());
  EXPECT_FALSE(admissions_.find(request_.problem.hash, "w"));
  request_.memory_bytes = 0;
  expect(fails("out of memory"));
  ASSERT_TRUE(check());
  EXPECT_TRUE(admissions_.find(request_.problem.hash, "w"));
}

// Candidates of one target are never judged on the workloads of another, which so prove nothing.
TEST_F(CheckProblemTest, TheRuleHoldsForEachTargetByItself) {
  add_workload("small", 16, {task::Target::kInterpret});
  expect(passes("zeros"));
  expect({});
  auto found = check();
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_THAT(found->targets, SizeIs(2));
  EXPECT_EQ(found->targets[0].target, task::Target::kCpu);
  ASSERT_TRUE(found->targets[0].quarantine);
  EXPECT_THAT(found->targets[0].quarantine->names, ElementsAre("zeros"));
  EXPECT_EQ(found->targets[1].target, task::Target::kInterpret);
  EXPECT_FALSE(found->targets[1].quarantine);
}

TEST_F(CheckProblemTest, AStopEndsItBeforeTheNextWorkload) {
  std::stop_source stop;
  stop.request_stop();
  auto found = check(stop.get_token());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(sessions_.opened, 0);
}

}  // namespace
}  // namespace kw::gym
