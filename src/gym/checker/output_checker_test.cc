// Decisions between floating values: what rounding takes either way is right either way.
#include "gym/checker/output_checker.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using tensor::DType;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

task::Argument argument(const std::string& name, task::Role role, DType dtype) {
  task::Argument out;
  out.name = name;
  out.role = role;
  out.dtype = dtype;
  out.shape = {4};
  return out;
}

// x [4] of `in` -> y [4] of `out`.
task::Signature signature(DType in, DType out) {
  task::Signature s;
  s.inputs = {argument("x", task::Role::kInput, in)};
  s.outputs = {argument("y", task::Role::kOutput, out)};
  return s;
}

using Policies = std::map<std::string, task::OutputPolicy>;

bool accepts(const Policies& policies, const std::vector<std::uint8_t>& ours) {
  const task::Signature s = signature(DType::kFloat32, DType::kBool);
  const OutputChecker checker = OutputChecker::make(s, policies).value();
  Instance instance;
  instance.inputs.emplace_back();
  instance.trusted = {bytes_of<std::uint8_t>({0, 1, 0, 1})};
  instance.exact = {bytes_of<std::int64_t>({0, 1, 0, 1})};
  // The third is decided either way, by the one or the other run.
  instance.perturbed = {{bytes_of<std::int64_t>({0, 1, 0, 1})},
                        {bytes_of<std::int64_t>({0, 1, 1, 1})}};
  return checker.compare_with(instance).value().check(0, bytes_of(ours)).passed;
}

TEST(OutputChecker, DecisionsThatPerturbedRunsTakeEitherWay) {
  const Policies none;
  EXPECT_TRUE(accepts(none, {0, 1, 0, 1}));
  EXPECT_TRUE(accepts(none, {0, 1, 1, 1}));
  EXPECT_FALSE(accepts(none, {0, 0, 1, 1}));
  EXPECT_FALSE(accepts(none, {0, 1, 2, 1}));  // no boolean
}

TEST(OutputChecker, ExactIsExact) {
  const Policies exact = {{"y", {.check = task::CheckKind::kExact, .of = ""}}};
  EXPECT_TRUE(accepts(exact, {0, 1, 0, 1}));
  EXPECT_FALSE(accepts(exact, {0, 1, 1, 1}));
}

TEST(OutputChecker, WholeNumbersOfFloatsNeedPerturbedRuns) {
  const auto step = [](DType in, DType out, const Policies& policies = {}) {
    const task::Signature s = signature(in, out);
    const OutputChecker checker = OutputChecker::make(s, policies).value();
    EXPECT_LE(checker.steps().size(), 1U);
    return checker.step_of(0).inputs;
  };
  EXPECT_EQ(step(DType::kFloat32, DType::kFloat32), 0x1p-23);
  EXPECT_EQ(step(DType::kFloat32, DType::kInt64), 0x1p-21);
  EXPECT_EQ(step(DType::kBFloat16, DType::kBool), 0x1p-21);  // kernels compute in float32
  EXPECT_EQ(step(DType::kFloat64, DType::kBool), 0x1p-50);
  EXPECT_EQ(step(DType::kInt64, DType::kBool), 0);
  const Policies exact = {{"y", {.check = task::CheckKind::kExact, .of = ""}}};
  EXPECT_EQ(step(DType::kFloat32, DType::kInt64, exact), 0);
}

// A float32 output beside a narrower one keeps its own budget.
TEST(OutputChecker, EveryOutputHasTheStepOfItsDtype) {
  task::Signature s = signature(DType::kFloat32, DType::kFloat32);
  s.outputs.push_back(argument("q", task::Role::kOutput, DType::kBFloat16));
  s.outputs.push_back(argument("at", task::Role::kOutput, DType::kInt64));
  const OutputChecker checker = OutputChecker::make(s, {}).value();
  EXPECT_EQ(checker.steps().size(), 2U);
  EXPECT_EQ(checker.step_of(0).inputs, 0x1p-23);
  EXPECT_EQ(checker.step_of(1).inputs, 0x1p-7);
  EXPECT_EQ(checker.step_of(2).inputs, 0x1p-7);  // as far as any result of the call may move
}

}  // namespace
}  // namespace kw::gym
