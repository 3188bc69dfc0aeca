// Tests of the cubin reader on kernels.cubin (its source lies beside it) and on damaged copies.
#include "gym/compile/cubin.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/values.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;

std::string kernels_file() {
  std::ifstream file(std::string(KW_SOURCE_DIR) + "/src/gym/testdata/kernels.cubin",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const CubinKernel& named(const std::vector<CubinKernel>& kernels, const std::string& name) {
  for (const CubinKernel& one : kernels)
    if (one.name == name) return one;
  ADD_FAILURE() << "no kernel " << name;
  return kernels.front();
}

std::vector<std::int64_t> sizes_of(const CubinKernel& kernel) {
  std::vector<std::int64_t> out;
  EXPECT_TRUE(kernel.parameters);
  for (const CubinParameter& one : kernel.parameters.value_or(std::vector<CubinParameter>()))
    out.push_back(one.bytes);
  return out;
}

TEST(Cubin, KernelsWithTheirParametersAndResources) {
  auto kernels = read_cubin(kernels_file());
  ASSERT_TRUE(kernels) << message_of(kernels);
  ASSERT_EQ(kernels->size(), 4U);
  const CubinKernel& blend = named(*kernels, "blend");
  EXPECT_THAT(sizes_of(blend), testing::ElementsAre(8, 8, 4, 4));
  EXPECT_EQ(blend.parameters->at(3).offset, 20);
  EXPECT_GT(blend.registers, 4);
  EXPECT_GE(blend.shared_bytes, 128);
  EXPECT_THAT(sizes_of(named(*kernels, "mixed")), testing::ElementsAre(8, 1, 8, 8));
  EXPECT_THAT(sizes_of(named(*kernels, "nothing")), testing::ElementsAre());
  EXPECT_THAT(sizes_of(named(*kernels, "_Z7mangledPf")), testing::ElementsAre(8));
}

TEST(Cubin, WhatIsNone) {
  const std::string good = kernels_file();
  auto problem = [](const std::string& bytes) { return message_of(read_cubin(bytes)); };
  EXPECT_THAT(problem(""), HasSubstr("not a cubin: no ELF file"));
  EXPECT_THAT(problem("#!/bin/sh" + std::string(100, ' ')), HasSubstr("no ELF file"));
  std::string other = good;
  other[18] = 62;  // e_machine: x86-64
  EXPECT_THAT(problem(other), HasSubstr("built for another machine"));
  std::string far = good;
  far[0x28 + 6] = 1;  // e_shoff
  EXPECT_THAT(problem(far), HasSubstr("section headers outside the file"));
  EXPECT_THAT(problem(good.substr(0, good.size() / 2)), HasSubstr("outside the file"));
  std::string unmarked = good;
  // Every entry flag gone: functions, but no kernel.
  for (std::size_t i = 0; i + 24 <= unmarked.size(); i += 8)
    if ((unmarked[i + 4] & 0xF) == 2 && (unmarked[i + 5] & 0x10) != 0) unmarked[i + 5] = 0;
  EXPECT_THAT(problem(unmarked), HasSubstr("no kernel in it"));
}

TEST(Cubin, NoByteThatChangesLeadsOutside) {
  std::string bytes = kernels_file();
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    const char before = bytes[i];
    for (const char value : {char{0}, static_cast<char>(0xFF), static_cast<char>(before ^ 0x40)}) {
      bytes[i] = value;
      auto kernels = read_cubin(bytes);
      if (!kernels) {
        EXPECT_EQ(kernels.error().code(), ErrorCode::kInvalidArgument);
      }
    }
    bytes[i] = before;
  }
}

class LaunchCheck : public testing::Test {
 protected:
  std::string problem(const std::string& function, std::vector<task::PlanArgument> arguments) {
    task::LaunchPlan plan;
    plan.modules.resize(1);
    task::PlanLaunch launch;
    launch.function = function;
    launch.arguments = std::move(arguments);
    plan.steps.emplace_back(std::move(launch));
    return message_of(check_launches(plan, 0, kernels_));
  }
  static task::PlanArgument pointer() { return task::PlanMemory{}; }
  static task::PlanArgument number(tensor::DType dtype) {
    return task::PlanScalar{dtype, task::LaunchExpression(1)};
  }

  std::vector<CubinKernel> kernels_ = read_cubin(kernels_file()).value();
};

TEST_F(LaunchCheck, TheLaunchFitsItsKernel) {
  using tensor::DType;
  EXPECT_EQ(
      problem("blend", {pointer(), pointer(), number(DType::kInt32), number(DType::kFloat32)}),
      "no error");
  EXPECT_EQ(problem("nothing", {}), "no error");
  EXPECT_EQ(problem("blend", {pointer(), pointer(), number(DType::kInt32)}),
            "kernel blend has 4 parameters, but its launch gives 3 arguments");
  EXPECT_EQ(
      problem("blend", {pointer(), pointer(), number(DType::kInt64), number(DType::kFloat32)}),
      "kernel blend: parameter 2 has 4 bytes, but the launch's argument has 8");
  EXPECT_EQ(problem("mixed", {number(DType::kInt64), number(DType::kInt8), number(DType::kFloat64),
                              task::NullPointer{}}),
            "no error");
}

TEST_F(LaunchCheck, ANameThatIsNone) {
  EXPECT_THAT(problem("blnd", {}), HasSubstr("there is no kernel blnd (there is "));
  EXPECT_THAT(problem("blnd", {}), HasSubstr("(did you mean \"blend\"?)"));
  EXPECT_THAT(problem("mangled", {pointer()}), HasSubstr("; declare it extern \"C\" __global__"));
}

TEST_F(LaunchCheck, KernelsThatDoNotSayTheirParameters) {
  for (CubinKernel& one : kernels_) one.parameters.reset();
  EXPECT_EQ(problem("blend", {pointer()}), "no error");
}

}  // namespace
}  // namespace kw::gym
