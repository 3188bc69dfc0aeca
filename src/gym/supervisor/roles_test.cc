// Tests of the process and the launcher that each role asks for.
#include "gym/supervisor/roles.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_roles.h"

namespace kw::gym {
namespace {

using sandbox::FakeLaunch;
using sandbox::Where;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class RolesTest : public ::testing::Test {
 protected:
  const FakeLaunch& last() { return *fakes_.launches.launches.back(); }
  testing::FakeRoles fakes_;
  Roles& roles_ = *fakes_.roles;
};

TEST_F(RolesTest, TheCompilerIsANativeProgramWithRoomForItsProcesses) {
  ASSERT_TRUE(roles_.start_compiler());
  EXPECT_EQ(last().spec.role, "compiler");
  EXPECT_EQ(last().where, Where::kNative);
  EXPECT_EQ(last().program, fakes_.programs.compiler.string());
  EXPECT_THAT(last().spec.environment, Contains(Key("PATH")));
  EXPECT_EQ(last().spec.limits.memory_bytes, 4ULL << 30U);
  EXPECT_EQ(last().spec.limits.processes, 16U);
}

TEST_F(RolesTest, AProgramThatIsMissingIsNamed) {
  fakes_.programs.compiler = "/nowhere/kernelwright-compiler";
  auto started = roles_.start_compiler();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message(), ::testing::HasSubstr("/nowhere/kernelwright-compiler"));
  EXPECT_THAT(fakes_.launches.launches, IsEmpty());
}

TEST_F(RolesTest, AnExecutorHasTheLimitsAndCoresGivenAndCannotLeaveThem) {
  ASSERT_TRUE(roles_.start_executor(Host::kNative, {1000, 3}, {2, 5}, false));
  const sandbox::Spec& spec = last().spec;
  EXPECT_EQ(last().program, fakes_.programs.executor.string());
  EXPECT_EQ(spec.limits.memory_bytes, 1000U);
  EXPECT_EQ(spec.limits.processes, 64U);
  EXPECT_THAT(spec.cpus, ElementsAre(2, 5));
  EXPECT_FALSE(spec.may_set_affinity);
  EXPECT_THAT(spec.environment, Contains(Pair("OMP_NUM_THREADS", "3")));
  EXPECT_THAT(spec.environment, Not(Contains(Key("PATH"))));
}

TEST_F(RolesTest, OnlyAnExecutorThatCompilesFindsProgramsAndMayStartMany) {
  ASSERT_TRUE(roles_.start_executor(Host::kTorch, {}, {}, true));
  EXPECT_EQ(last().where, Where::kZygote);
  EXPECT_EQ(last().spec.role, "executor");
  EXPECT_EQ(last().program, "");
  EXPECT_EQ(last().spec.limits.processes, 256U);
  EXPECT_THAT(last().spec.environment, Contains(Key("PATH")));
}

TEST_F(RolesTest, TheInterpreterKnowsThatItInterprets) {
  ASSERT_TRUE(roles_.start_executor(Host::kTritonInterpreter, {}, {}, false));
  const std::pair<std::string, std::string> interpret = {"TRITON_INTERPRET", "1"};
  EXPECT_THAT(last().spec.environment, Contains(interpret));
  EXPECT_THAT(fakes_.launches.started[last().launcher].zygote_environment, Contains(interpret));
  ASSERT_TRUE(roles_.start_triton_recorder());
  EXPECT_EQ(last().spec.role, "triton_recorder");
  ASSERT_TRUE(roles_.start_triton_compiler());
  EXPECT_EQ(last().spec.role, "triton_compiler");
  EXPECT_THAT(last().spec.environment, Not(Contains(interpret)));
  EXPECT_THAT(fakes_.launches.started[last().launcher].zygote_environment,
              Not(Contains(interpret)));
}

TEST_F(RolesTest, OracleAndTracerArePythonWithTheMemoryGiven) {
  ASSERT_TRUE(roles_.start_oracle({2000, 2}));
  EXPECT_EQ(last().spec.role, "oracle");
  EXPECT_EQ(last().where, Where::kZygote);
  EXPECT_EQ(last().spec.limits.memory_bytes, 2000U);
  ASSERT_TRUE(roles_.start_tracer({3000, 1}));
  EXPECT_EQ(last().spec.role, "tracer");
  EXPECT_EQ(last().spec.limits.memory_bytes, 3000U);
}

TEST_F(RolesTest, WhatAProcessWritesIsInItsLog) {
  auto role = roles_.start_oracle({});
  ASSERT_TRUE(role);
  ASSERT_TRUE(os::write_all(last().spec.log.get(), "no module named x\n"));
  EXPECT_EQ(role->log->text(), "no module named x\n");
}

TEST_F(RolesTest, ARoleSendsItsControlAndItsMonitor) {
  auto role = roles_.start_oracle({});
  ASSERT_TRUE(role);
  OutgoingFds fds;
  auto description = role->add_to(fds, "oracle.");
  ASSERT_TRUE(description);
  EXPECT_EQ(*description, Json::object({{"fake", true}}));
  EXPECT_EQ(fds.names(), Json::array({"oracle.control", "oracle.monitor0", "oracle.monitor1"}));
  EXPECT_EQ(fds.fds()[0], role->control.get());
}

TEST_F(RolesTest, ARoleEndsItsProcessAndALaunchThatFailsIsTheError) {
  {
    auto role = roles_.start_oracle({});
    ASSERT_TRUE(role);
    EXPECT_TRUE(last().is_alive);
  }
  EXPECT_FALSE(last().is_alive);
  fakes_.launches.launch_error = Error(ErrorCode::kResourceExhausted, "no uid is free");
  auto role = roles_.start_oracle({});
  ASSERT_FALSE(role);
  EXPECT_EQ(role.error().code(), ErrorCode::kResourceExhausted);
}

// Slurm and Ray give a process its GPUs by such a variable.
TEST_F(RolesTest, WhoUsesAGpuCountsGpusAsThisProcessDoes) {
  const auto visible = Pair("CUDA_VISIBLE_DEVICES", "3,1");
  ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  ASSERT_TRUE(roles_.start_gpu_executor(Host::kNative, {1000, 3}, {2}, false));
  EXPECT_THAT(last().spec.environment, Contains(visible));
  ASSERT_TRUE(roles_.start_oracle({.memory_bytes = 1000, .threads = 1, .has_gpu = true}));
  EXPECT_THAT(last().spec.environment, Contains(visible));
  ASSERT_TRUE(roles_.start_executor(Host::kNative, {1000, 3}, {2}, false));
  EXPECT_THAT(last().spec.environment, Not(Contains(visible)));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(RolesTest, AGpuExecutorSeesTheDriversNodesAndHasRoomForItsMemory) {
  ASSERT_TRUE(roles_.start_gpu_executor(Host::kNative, {1000, 3}, {2}, false));
  EXPECT_EQ(last().program, fakes_.programs.gpu_executor.string());
  EXPECT_GT(last().spec.limits.memory_bytes, 1ULL << 30U);
  EXPECT_FALSE(last().spec.may_set_affinity);
  for (const sandbox::Bind& bind : last().spec.binds) {
    EXPECT_TRUE(bind.device) << bind.source;
    EXPECT_THAT(bind.source, ::testing::StartsWith("/dev/nvidia"));
  }
  fakes_.programs.gpu_executor.clear();
  auto missing = roles_.start_gpu_executor(Host::kNative, {}, {}, false);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("kernelwright-gpu-executor"));
}

}  // namespace
}  // namespace kw::gym
