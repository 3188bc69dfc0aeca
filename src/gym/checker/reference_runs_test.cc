// Tests of the reference's runs for an instance.
#include "gym/checker/reference_runs.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::FakeWorkload;

std::vector<Precision> precisions(const FakeWorkload& workload) {
  std::vector<Precision> out;
  for (const Oracle::Run& run : workload.oracle.runs()) out.push_back(run.precision);
  return out;
}

Result<OracleAnswer> run(FakeWorkload& workload, Instance& instance, PerturbedRuns runs = {}) {
  KW_TRY(OracleAnswer filled, workload.inputs.fill(*workload.sets[0], 3));
  if (!filled.ok) return filled;
  return workload.reference.run(*workload.sets[0], instance, runs);
}

constexpr Precision kDeclared = Precision::kDeclared, kFloat64 = Precision::kFloat64,
                    kSecond = Precision::kSecond;

TEST(ReferenceRuns, DeclaredExactAndMoved) {
  FakeWorkload workload;
  Instance instance;
  ASSERT_TRUE(run(workload, instance, {.count = 2}).value().ok);
  EXPECT_EQ(precisions(workload), (std::vector{kDeclared, kFloat64, kFloat64, kFloat64}));
  EXPECT_EQ(instance.trusted.at(0).size(), 4U * testing::kWorkloadElements);
  EXPECT_EQ(instance.exact.at(0).size(), 8U * testing::kWorkloadElements);
  ASSERT_EQ(instance.perturbed.size(), 2U);
  EXPECT_NE(instance.perturbed[0], instance.perturbed[1]);  // seeds of their own
  EXPECT_TRUE(instance.inputs.at(0).empty());               // no check looks at it
}

TEST(ReferenceRuns, OfALargeOutputAnInstanceHasAPart) {
  FakeWorkload workload;
  workload.signature.outputs[0].shape = {8, 32};
  workload.reference.judge_in_parts_beyond(64);
  Instance whole, parts;
  whole.selected.resize(1);
  ASSERT_TRUE(run(workload, whole).value().ok);
  ASSERT_TRUE(run(workload, parts).value().ok);
  const Selection* part = parts.part(0);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->shape(), (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(whole.part(0), nullptr);
  EXPECT_EQ(parts.trusted[0], part->of(whole.trusted[0], 4));
  EXPECT_EQ(parts.exact[0], part->of(whole.exact[0], 8));
  EXPECT_EQ(parts.perturbed.at(0)[0].size(), 64U * 8);

  const OracleComparison comparison = workload.checker.compare_with(parts).value();
  EXPECT_TRUE(comparison.check(0, parts.trusted[0]).passed);
  EXPECT_FALSE(comparison.check(0, std::vector<std::byte>(parts.trusted[0].size())).passed);
}

TEST(ReferenceRuns, FunctionsMoveAfterTheFirstTwo) {
  FakeWorkload workload;
  Instance instance;
  ASSERT_TRUE(run(workload, instance, {.count = 4, .move_functions = true}).value().ok);
  std::vector<bool> moved;
  for (const Oracle::Run& how : workload.oracle.runs()) moved.push_back(how.function_scale > 0);
  EXPECT_EQ(moved, (std::vector{false, false, false, false, true, true}));
}

// The largest relative movement of an output that is three times its input.
double movement(const Instance& instance, std::size_t output) {
  const auto values = [](const std::vector<std::byte>& bytes) {
    return std::span(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
  };
  const auto exact = values(instance.exact.at(output));
  const auto moved = values(instance.perturbed.at(0).at(output));
  double most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    most = std::max(most, std::abs(moved[i] - exact[i]) / std::abs(exact[i] - 1));
  return most;
}

TEST(ReferenceRuns, EveryOutputIsMovedByTheStepOfItsDtype) {
  FakeWorkload workload;
  task::Signature signature = workload.signature;
  signature.outputs.push_back(testing::float_tensor("q", task::Role::kOutput));
  signature.outputs.back().dtype = tensor::DType::kBFloat16;
  ASSERT_TRUE(workload.oracle.attach_exchange(signature).value().ok);
  const OutputChecker checker = OutputChecker::make(signature, {}).value();
  ReferenceRuns reference(workload.oracle, signature, checker, nullptr, workload.seeds);
  ASSERT_TRUE(workload.inputs.fill(*workload.sets[0], 3).value().ok);
  Instance instance;
  ASSERT_TRUE(reference.run(*workload.sets[0], instance).value().ok);
  EXPECT_EQ(instance.perturbed.size(), 1U);
  EXPECT_NEAR(movement(instance, 0), 0x1p-23, 0x1p-30);
  EXPECT_NEAR(movement(instance, 1), 0x1p-7, 0x1p-14);
}

TEST(ReferenceRuns, AReferenceThatDoesNotRunInFloat64IsComparedWithAnotherImplementation) {
  FakeWorkload workload;
  workload.oracle.refuse(kFloat64);
  Instance instance;
  ASSERT_TRUE(run(workload, instance, {.count = 2}).value().ok);
  EXPECT_EQ(workload.reference.exact_precision(), kSecond);
  EXPECT_TRUE(instance.is_rounded);
  // One moved run is enough where results are rounded.
  EXPECT_EQ(precisions(workload), (std::vector{kDeclared, kFloat64, kSecond, kSecond}));
}

// Three roundings of a near tie may agree by luck: to convict takes as many runs as in float64.
TEST(ReferenceRuns, RunsThatRoundMoveFunctionsFromTheFirst) {
  FakeWorkload workload;
  workload.oracle.refuse(kFloat64);
  Instance instance;
  ASSERT_TRUE(run(workload, instance, kPerturbedRunsToConvict).value().ok);
  EXPECT_EQ(instance.perturbed.size(), static_cast<std::size_t>(kPerturbedRunsToConvict.count));
  int moved = 0;
  for (const Oracle::Run& how : workload.oracle.runs()) moved += how.function_scale > 0 ? 1 : 0;
  EXPECT_EQ(moved, kPerturbedRunsToConvict.count);
}

TEST(ReferenceRuns, NeitherFloat64NorAnotherImplementation) {
  FakeWorkload workload;
  workload.oracle.refuse(kFloat64);
  workload.oracle.refuse(kSecond);
  Instance instance;
  const OracleAnswer answer = run(workload, instance).value();
  EXPECT_FALSE(answer.ok);
  EXPECT_NE(answer.text.find("by other operators either"), std::string::npos);
}

// A reference that once ran in float64 is not tried by other operators when it fails later.
TEST(ReferenceRuns, TheFirstRunSettlesIt) {
  FakeWorkload workload;
  Instance instance;
  ASSERT_TRUE(run(workload, instance).value().ok);
  workload.oracle.refuse(kFloat64);
  EXPECT_FALSE(run(workload, instance).value().ok);
  EXPECT_EQ(workload.reference.exact_precision(), kFloat64);
}

}  // namespace
}  // namespace kw::gym
