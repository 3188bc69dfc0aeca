// Tests of a device build: the compiler that it asks for, what that sees, and whose fault a failure
// is.
#include "gym/supervisor/device_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"
#include "task/candidate_source.h"

namespace kw::gym {
namespace {

using sandbox::FakeLaunch;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kSource = R"j(
// launch: {"kernel": "k", "grid": [1], "block": [32]}
extern "C" __global__ void k(float* y) {}
)j";

CudaToolchain fake_tools() {
  CudaToolchain out;
  out.nvrtc = "/opt/nvrtc/lib/libnvrtc.so.13";
  out.include = "/usr/local/cuda/include";
  out.identity = "tools";
  return out;
}

class DeviceBuilderTest : public ::testing::Test {
 protected:
  DeviceBuilder builder(Result<CudaToolchain> tools, std::size_t spares = 0) {
    return {*fakes_.roles.roles,
            fakes_.lease,
            std::move(tools),
            {"sm_90a", fakes_.roles.folder.path() / "builds", spares}};
  }
  static task::Candidate candidate(const std::string& source = kSource) {
    return task::candidate_from_source("k.cu", source).value();
  }
  static task::Signature signature() {
    task::Signature out;
    out.outputs = {{.name = "y", .role = task::Role::kOutput, .shape = {4}}};
    out.output_axes = {{}};
    return out;
  }
  auto& started() { return fakes_.roles.launches.launches; }

  testing::FakeSessions fakes_;
};

TEST_F(DeviceBuilderTest, SparesAreWarmAndSeeTheLibrary) {
  DeviceBuilder builder = this->builder(fake_tools(), 2);
  ASSERT_TRUE(builder.fill());
  ASSERT_EQ(started().size(), 2U);
  const sandbox::Spec& spec = started()[0]->spec;
  EXPECT_EQ(spec.role, "compiler");
  EXPECT_THAT(spec.argv, ElementsAre("kernelwright-compiler", "warm"));
  EXPECT_THAT(spec.environment, Contains(Pair("KW_CUDA_LIBRARIES", "/opt/nvrtc/lib")));
  ASSERT_EQ(spec.binds.size(), 1U);  // headers below /usr are there
  EXPECT_EQ(spec.binds[0].source, "/opt/nvrtc/lib");
  EXPECT_EQ(spec.binds[0].target, "/opt/nvrtc/lib");
  ASSERT_TRUE(builder.fill());
  EXPECT_EQ(started().size(), 2U);
}

TEST_F(DeviceBuilderTest, ASpareThatEndedIsNotUsed) {
  fakes_.roles.launches.on_launch = [](FakeLaunch& launch) {
    launch.spec.control.reset();
    if (launch.spec.argv.size() == 2) launch.exit = sandbox::Exit();
  };
  {
    DeviceBuilder builder = this->builder(fake_tools(), 1);
    ASSERT_TRUE(builder.fill());
    (void)builder.build(candidate(), signature());  // nobody answers
  }
  ASSERT_EQ(started().size(), 3U);
  EXPECT_EQ(started()[0]->spec.argv.size(), 2U);
  EXPECT_EQ(started()[1]->spec.argv.size(), 1U);  // in place of the spare
  EXPECT_EQ(started()[2]->spec.argv.size(), 2U);  // for the next build
}

TEST_F(DeviceBuilderTest, WithoutNvrtcThereIsNothingToWarm) {
  CudaToolchain tools = fake_tools();
  tools.nvrtc.clear();
  tools.nvcc = "/usr/local/cuda/bin/nvcc";
  DeviceBuilder builder = this->builder(tools, 2);
  ASSERT_TRUE(builder.fill());
  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(DeviceBuilderTest, MistakesOfTheCandidateNeedNoCompiler) {
  DeviceBuilder builder = this->builder(fake_tools());
  auto build = builder.build(candidate("extern \"C\" __global__ void k() {}"), signature());
  ASSERT_TRUE(build) << build.error().message();
  EXPECT_FALSE(build->plan);
  EXPECT_THAT(build->mistake, HasSubstr("no launch"));
  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(DeviceBuilderTest, WhatThisMachineLacksIsNoMistake) {
  DeviceBuilder none =
      builder(Result<CudaToolchain>(fail(ErrorCode::kUnsupported, "no CUDA compiler")));
  auto build = none.build(candidate(), signature());
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::kUnsupported);

  CudaToolchain only_ptxas = fake_tools();
  only_ptxas.nvrtc.clear();
  only_ptxas.ptxas = "/usr/local/cuda/bin/ptxas";
  build = builder(only_ptxas).build(candidate(), signature());
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::kUnsupported);

  fakes_.roles.launches.launch_error = Error(ErrorCode::kResourceExhausted, "no uid is free");
  build = builder(fake_tools()).build(candidate(), signature());
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().code(), ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace kw::gym
