// These test what a session learns of its reference before it judges anybody.
#include "gym/checker/learning.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::FakeWorkload;

class LearningTest : public ::testing::Test {
 protected:
  Result<OracleAnswer> learned_from(FakeWorkload& workload) {
    return learn(
        {workload.inputs, workload.reference, workload.checker, *workload.sets[0], workload.seeds},
        learned_, unfit_);
  }

  LearnedInstances learned_;
  bool unfit_ = false;
};

TEST_F(LearningTest, ThreeInstancesTheFirstWithTwoMovedRuns) {
  FakeWorkload workload;
  ASSERT_TRUE(learned_from(workload).value().ok);
  ASSERT_EQ(learned_.instances.size(), 3U);
  ASSERT_EQ(learned_.seeds.size(), 3U);
  EXPECT_EQ(learned_.instances[0].perturbed.size(), 2U);
  EXPECT_EQ(learned_.instances[1].perturbed.size(), 1U);
  EXPECT_NE(learned_.instances[0].exact, learned_.instances[1].exact);
  EXPECT_FALSE(unfit_);
}

TEST_F(LearningTest, AReferenceThatGivesNanIsUnfitAndHasNotFailed) {
  FakeWorkload workload;
  workload.oracle = testing::ScriptedOracle([](double) { return std::nan(""); });
  ASSERT_TRUE(workload.oracle.attach_exchange(workload.signature).value().ok);
  EXPECT_FALSE(learned_from(workload).value().ok);
  EXPECT_TRUE(unfit_);
}

TEST_F(LearningTest, AReferenceThatDiesHasFailedAndIsNotUnfit) {
  for (const int runs : {0, 4, 6}) {  // before the first instance, the second, the third
    FakeWorkload workload;
    int left = runs;
    workload.oracle.on_run = [&] {
      if (left-- == 0) workload.oracle.die();
    };
    const OracleAnswer answer = learned_from(workload).value();
    EXPECT_FALSE(answer.ok) << runs;
    EXPECT_EQ(answer.text, "the reference's process ended");
    EXPECT_FALSE(unfit_);
  }
}

// Spikes hide how many terms there are, so that ordinary values are run once more.
TEST_F(LearningTest, UnevenInputsNeedARunOnOrdinaryOnes) {
  FakeWorkload even,
      uneven({}, testing::workload_signature(), {}, {{"x", task::Distribution::kSpikes}});
  ASSERT_TRUE(learned_from(even).value().ok);
  ASSERT_TRUE(learned_from(uneven).value().ok);
  // One by the declared precision, one in float64, two moved ones.
  EXPECT_EQ(uneven.oracle.runs().size(), even.oracle.runs().size() + 4);
}

}  // namespace
}  // namespace kw::gym
