// Which launcher forks which process, when each is started, and what one that fails means for the
// others.
#include "gym/supervisor/launchers.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_roles.h"

namespace kw::gym {
namespace {

using sandbox::Where;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::pair<std::string, std::string> kInterprets = {"TRITON_INTERPRET", "1"};

class LaunchersTest : public ::testing::Test {
 protected:
  LaunchersTest() {
    programs_.launcher = "/programs/kernelwright-launcher";
    programs_.python = "/venv/bin/python";
    programs_.python_folder = "/checkout/python";
  }
  Result<std::unique_ptr<Launchers>> start(sandbox::Level at_least = sandbox::Level::kNone) {
    return Launchers::start(
        programs_, at_least, [this](auto options) -> Result<std::unique_ptr<sandbox::Launcher>> {
          ++tried_;
          if (start_error_) return tl::unexpected(*start_error_);
          return std::make_unique<sandbox::FakeLauncher>(fakes_, std::move(options));
        });
  }
  // The launcher that forked the last process.
  const sandbox::Launcher::Options& of_last() const {
    return fakes_.started.at(fakes_.launches.back()->launcher);
  }

  Programs programs_;
  sandbox::FakeLaunches fakes_;
  std::optional<Error> start_error_;
  int tried_ = 0;
  std::vector<std::unique_ptr<sandbox::Sandbox>> running_;
};

TEST_F(LaunchersTest, NativeProgramsAndTorchShareTheFirstOne) {
  auto launchers = start();
  ASSERT_TRUE(launchers);
  ASSERT_TRUE((*launchers)->launch(Host::kNative, {}));
  EXPECT_EQ(fakes_.launches.back()->where, Where::kNative);
  ASSERT_TRUE((*launchers)->launch(Host::kTorch, {}));
  EXPECT_EQ(fakes_.launches.back()->where, Where::kZygote);
  EXPECT_EQ(fakes_.started.size(), 1U);
  EXPECT_EQ(of_last().launcher_program, "/programs/kernelwright-launcher");
  for (const char* module : {"executor=executor", "gpu_executor=gpu_executor", "oracle=oracle"})
    EXPECT_THAT(of_last().zygote_argv, Contains(module));
  EXPECT_THAT(of_last().zygote_environment, Not(Contains(kInterprets)));
}

// Triton is told once, before its import, whether it interprets.
TEST_F(LaunchersTest, EachOtherHostIsAZygoteWithItsOwnImports) {
  auto launchers = start();
  ASSERT_TRUE(launchers);
  const std::pair<Host, const char*> hosts[] = {
      {Host::kTritonInterpreter, "triton_support.interpret"},
      {Host::kTritonCompiler, "triton_compiler=triton_support.compiler"},
      {Host::kTracer, "tracer=tracer"}};
  std::size_t started = 1;
  for (const auto& [host, module] : hosts) {
    EXPECT_EQ(fakes_.started.size(), started);  // not before it is needed
    ASSERT_TRUE((*launchers)->launch(host, {}));
    EXPECT_EQ(fakes_.started.size(), ++started) << module;
    EXPECT_EQ(fakes_.launches.back()->where, Where::kZygote);
    EXPECT_THAT(of_last().zygote_argv, Contains(module));
    if (host == Host::kTritonInterpreter)
      EXPECT_THAT(of_last().zygote_environment, Contains(kInterprets));
    else
      EXPECT_THAT(of_last().zygote_environment, Not(Contains(kInterprets)));
    ASSERT_TRUE((*launchers)->launch(host, {}));
    EXPECT_EQ(fakes_.started.size(), started) << module;  // once
  }
}

TEST_F(LaunchersTest, AllOfThemReachTheLevelAskedFor) {
  auto launchers = start(sandbox::Level::kNamespaces);
  ASSERT_TRUE(launchers);
  EXPECT_EQ((*launchers)->level(), sandbox::Level::kNamespaces);
  ASSERT_TRUE((*launchers)->launch(Host::kTracer, {}));
  for (const auto& options : fakes_.started)
    EXPECT_EQ(options.at_least, sandbox::Level::kNamespaces);
}

TEST_F(LaunchersTest, WhereTheLevelCannotBeReachedNoneStartsAndTheErrorSaysWhy) {
  start_error_ = Error(ErrorCode::kIsolationTooWeak, "user namespaces are switched off");
  const auto launchers = start(sandbox::Level::kFull);
  ASSERT_FALSE(launchers);
  EXPECT_EQ(launchers.error().code(), ErrorCode::kIsolationTooWeak);
  EXPECT_THAT(launchers.error().message(), HasSubstr("user namespaces are switched off"));
  EXPECT_EQ(tried_, 1);
}

TEST_F(LaunchersTest, OneThatDoesNotStartIsTheErrorOfItsLaunchesAloneAndIsTriedAgain) {
  auto launchers = start();
  ASSERT_TRUE(launchers);
  start_error_ = Error(ErrorCode::kUnavailable, "the zygote: no module named triton");
  for (const int tried : {2, 3}) {
    const auto compiler = (*launchers)->launch(Host::kTritonCompiler, {});
    ASSERT_FALSE(compiler);
    EXPECT_EQ(compiler.error().message(), "the zygote: no module named triton");
    EXPECT_EQ(tried_, tried);
  }
  EXPECT_TRUE((*launchers)->launch(Host::kTorch, {}));
  EXPECT_TRUE((*launchers)->freeze_others({}));
  EXPECT_TRUE((*launchers)->thaw_others());
  start_error_.reset();
  EXPECT_TRUE((*launchers)->launch(Host::kTritonCompiler, {}));
}

TEST_F(LaunchersTest, WithoutPythonThereIsNoZygote) {
  programs_.python.clear();
  auto launchers = start();
  ASSERT_TRUE(launchers);
  EXPECT_THAT(fakes_.started.at(0).zygote_argv, IsEmpty());
  EXPECT_THAT(fakes_.started[0].zygote_environment, IsEmpty());
}

class LaunchersLeaseTest : public LaunchersTest {
 protected:
  void SetUp() override {
    auto started = start();
    ASSERT_TRUE(started);
    launchers_ = std::move(*started);
    for (const Host host : {Host::kTorch, Host::kTracer, Host::kNative}) {
      auto launched = launchers_->launch(host, {});
      ASSERT_TRUE(launched);
      running_.push_back(std::move(*launched));
    }
  }
  std::vector<bool> frozen() const {
    std::vector<bool> out;
    for (const auto& launch : fakes_.launches) out.push_back(launch->is_frozen);
    return out;
  }

  std::unique_ptr<Launchers> launchers_;
};

TEST_F(LaunchersLeaseTest, StopsTheProcessesOfAllLaunchersButThoseGiven) {
  ASSERT_TRUE(launchers_->freeze_others({running_[0].get()}));
  EXPECT_EQ(frozen(), (std::vector{false, true, true}));
  ASSERT_TRUE(launchers_->thaw_others());
  EXPECT_EQ(frozen(), (std::vector{false, false, false}));
}

TEST_F(LaunchersLeaseTest, OneThatDoesNotThawLeavesTheOthersRunningAndIsTold) {
  ASSERT_TRUE(launchers_->freeze_others({running_[0].get()}));
  fakes_.thaw_fails = 0;
  const Status thawed = launchers_->thaw_others();
  ASSERT_FALSE(thawed);
  EXPECT_EQ(thawed.error().message(), "launcher 0 fails");
  EXPECT_EQ(frozen(), (std::vector{false, false, true}));
}

TEST_F(LaunchersLeaseTest, AFreezeThatFailsIsAnError) {
  fakes_.freeze_error = Error(ErrorCode::kDeadlineExceeded, "it does not stop");
  EXPECT_EQ(launchers_->freeze_others({}).error().code(), ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace kw::gym
