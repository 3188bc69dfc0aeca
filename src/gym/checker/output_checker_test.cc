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
    return OutputChecker::make(s, policies).value().perturbation();
  };
  EXPECT_EQ(step(DType::kFloat32, DType::kFloat32), 0x1p-23);
  EXPECT_EQ(step(DType::kFloat32, DType::kInt64), 0x1p-21);
  EXPECT_EQ(step(DType::kBFloat16, DType::kBool), 0x1p-21);  // kernels compute in float32
  EXPECT_EQ(step(DType::kFloat64, DType::kBool), 0x1p-50);
  EXPECT_EQ(step(DType::kInt64, DType::kBool), 0);
  const Policies exact = {{"y", {.check = task::CheckKind::kExact, .of = ""}}};
  EXPECT_EQ(step(DType::kFloat32, DType::kInt64, exact), 0);
}

}  // namespace
}  // namespace kw::gym
