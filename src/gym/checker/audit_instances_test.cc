// Instances whose right outputs are known: how often each is shown, and what replaces it.
#include "gym/checker/audit_instances.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::FakeWorkload;

TEST(AuditInstances, AreThoseLearnedTheLastFirst) {
  FakeWorkload workload;
  LearnedInstances learned;
  bool unfit = false;
  ASSERT_TRUE(learn({workload.inputs, workload.reference, workload.checker, *workload.sets[0],
                     workload.seeds},
                    learned, unfit)
                  .value()
                  .ok);
  const std::vector<std::uint64_t> seeds = learned.seeds;
  ASSERT_TRUE(workload.audits.keep(std::move(learned), workload.checker));
  // Those with one perturbed run take less memory than the first, which has two.
  EXPECT_EQ(workload.audits.use(0)->seed, seeds.at(2));
  EXPECT_EQ(workload.audits.use(2)->seed, seeds.at(0));
  EXPECT_EQ(workload.audits.use(3), nullptr);
}

// Each is judged by the outputs of its own inputs.
TEST(AuditInstances, HaveTheRightOutputsOfTheirSeed) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  for (std::size_t i = 0; i < 3; ++i) {
    const AuditInstance& known = *workload.audits.use(i);
    ASSERT_TRUE(workload.inputs.fill(*workload.sets[1], known.seed).value().ok);
    const auto bytes = workload.sets[1]->view(0).value();
    const auto* x = reinterpret_cast<const float*>(bytes.data());
    std::vector<float> y(testing::kWorkloadElements);
    for (std::size_t element = 0; element < y.size(); ++element) y[element] = 3 * x[element] + 1;
    EXPECT_TRUE(known.comparison->check(0, std::as_bytes(std::span(y))).passed);
    y[7] += 0.25F;
    EXPECT_FALSE(known.comparison->check(0, std::as_bytes(std::span(y))).passed);
  }
}

TEST(AuditInstances, EachIsShownOnceAndRenewedWhenWorn) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  const std::uint64_t first = workload.audits.use(0)->seed;
  EXPECT_NE(workload.audits.use(1)->seed, first);
  EXPECT_EQ(workload.audits.use(3), nullptr);
  const LearningInput in = {workload.inputs, workload.reference, workload.checker,
                            *workload.sets[0], workload.seeds};
  for (int use = 1; use < AuditInstance::kMaxUses; ++use) {
    ASSERT_TRUE(workload.audits.renew(in));
    EXPECT_EQ(workload.audits.use(0)->seed, first);
  }
  ASSERT_TRUE(workload.audits.renew(in));
  EXPECT_NE(workload.audits.use(0)->seed, first);
  // With a dead oracle worn instances stay as they are.
  workload.oracle.die();
  for (int use = 1; use < AuditInstance::kMaxUses; ++use)
    ASSERT_NE(workload.audits.use(0), nullptr);
  const Status renewed = workload.audits.renew(in);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(workload.audits.use(0), nullptr);
}

}  // namespace
}  // namespace kw::gym
