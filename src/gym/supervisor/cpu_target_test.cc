// The target "cpu" over launchers that start nothing: what it refuses and which bench a language
// goes to.
#include "gym/supervisor/cpu_target.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CpuTargetTest : public ::testing::Test {
 protected:
  CpuTargetTest() {
    for (const char* program :
         {"kernelwright-launcher", "kernelwright-checker", "kernelwright-executor",
          "kernelwright-compiler", "libkw_arena.so", "libkw_sandbox_leaf.so"})
      EXPECT_TRUE(os::write_file_atomic(folder_.path() / program, ""));
    options_.cache_folder = folder_.path() / "cache";
    options_.evidence_folder = folder_.path() / "evidence";
    options_.programs_folder = folder_.path();
    options_.python = "/nowhere/python3";
    request_.problem = testing::line_problem();
    request_.candidate.language = task::Language::kCpp;
  }
  Result<std::unique_ptr<Target>> made() {
    return make_cpu_target(
        options_, [this](auto options) -> Result<std::unique_ptr<sandbox::Launcher>> {
          if (start_error_) return tl::unexpected(*start_error_);
          return std::make_unique<sandbox::FakeLauncher>(launches_, std::move(options));
        });
  }
  void start() {
    auto target = made();
    ASSERT_TRUE(target) << target.error().message();
    target_ = std::move(*target);
  }
  std::string unsupported() {
    auto verdict = target_->judge(request_, {});
    EXPECT_TRUE(verdict) << verdict.error().message();
    EXPECT_EQ(verdict->outcome, task::Outcome::kUnsupported);
    return verdict->diagnostics.empty() ? "" : verdict->diagnostics[0].message;
  }

  os::TempDir folder_ = os::TempDir::make("kw-cpu-target-").value();
  GymOptions options_;
  sandbox::FakeLaunches launches_;
  std::optional<Error> start_error_;
  std::unique_ptr<Target> target_;
  EvalRequest request_;
};

TEST_F(CpuTargetTest, AProgramThatIsMissingIsNamedBeforeAnythingStarts) {
  std::filesystem::remove(folder_.path() / "kernelwright-checker");
  const auto target = made();
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(target.error().message(), HasSubstr("kernelwright-checker"));
  EXPECT_THAT(launches_.started, IsEmpty());
}

TEST_F(CpuTargetTest, IsolationThatCannotBeReachedIsTheError) {
  options_.isolation_at_least = sandbox::Level::kFull;
  start_error_ = Error(ErrorCode::kIsolationTooWeak, "level 3 is not reached: no cgroup");
  const auto target = made();
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), ErrorCode::kIsolationTooWeak);
  EXPECT_THAT(target.error().message(), HasSubstr("no cgroup"));
}

TEST_F(CpuTargetTest, ItsCapabilitiesAreThoseOfTheLevelThatWasReached) {
  for (const auto level : {sandbox::Level::kBasic, sandbox::Level::kNamespaces}) {
    options_.isolation_at_least = level;
    start();
    const Capabilities capabilities = target_->capabilities();
    EXPECT_TRUE(capabilities.available);
    EXPECT_EQ(capabilities.isolation, level == sandbox::Level::kNamespaces);
    EXPECT_EQ(capabilities.freeze, level == sandbox::Level::kNamespaces);
    EXPECT_TRUE(capabilities.clock);
    EXPECT_THAT(capabilities.languages, Contains("cpp"));
    EXPECT_THAT(capabilities.languages, Not(Contains("triton")));  // that Python has none
  }
}

TEST_F(CpuTargetTest, WhatItCannotRunIsUnsupportedByName) {
  start();
  request_.candidate.language = task::Language::kCuda;
  EXPECT_THAT(unsupported(), HasSubstr("language cuda"));
  EXPECT_EQ(target_->session_key(request_), "");
  request_.candidate.language = task::Language::kCpp;
  request_.candidate.binding = "torch";
  EXPECT_THAT(unsupported(), HasSubstr("binding torch"));
  request_.candidate.binding = "";
  request_.problem.policy.workloads["w"].targets = {task::Target::kCuda};
  EXPECT_THAT(unsupported(), HasSubstr("without a workload for this target"));
  EXPECT_THAT(launches_.launches, IsEmpty());
}

// The interpreter times nothing, so that its sessions are others.
TEST_F(CpuTargetTest, TritonIsInterpretedInSessionsOfItsOwn) {
  start();
  const std::string cpp = target_->session_key(request_);
  EXPECT_NE(cpp, "");
  request_.candidate.language = task::Language::kPython;
  EXPECT_EQ(target_->session_key(request_), cpp);
  request_.candidate.language = task::Language::kTriton;
  EXPECT_NE(target_->session_key(request_), cpp);
  EXPECT_NE(target_->session_key(request_), "");
  EXPECT_FALSE(target_->is_open(cpp));
}

TEST_F(CpuTargetTest, AProcessThatDoesNotStartIsAnErrorAndNoVerdict) {
  start();
  launches_.launch_error = Error(ErrorCode::kResourceExhausted, "no uid is free");
  const auto verdict = target_->judge(request_, {});
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(CpuTargetTest, ADefinitionIsDescribedWithoutAProcessAndAWorkloadIsNeeded) {
  start();
  const auto signature = target_->describe(request_.problem);
  ASSERT_TRUE(signature) << signature.error().message();
  EXPECT_EQ(signature->inputs.at(0).name, "x");
  EXPECT_THAT(launches_.launches, IsEmpty());
  request_.problem.workloads.clear();
  const auto none = target_->describe(request_.problem);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kw::gym
