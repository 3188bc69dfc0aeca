// The words and the outcome of every way in which an executor ends.
#include "gym/checker/executor_fault.h"

#include <csignal>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/checker/testing/scripted_executor.h"

namespace kw::gym {
namespace {

using task::Outcome;
using ::testing::HasSubstr;

class ExecutorFaultTest : public ::testing::Test {
 protected:
  static Fault fault(LaunchEnd launch, const ExecutorEnd& end) {
    testing::ExecutorScript script;
    script.end = end;
    testing::FakeClock clock;
    testing::ScriptedExecutor executor(std::move(script), {}, clock);
    LaunchResult result;
    result.end = launch;
    return fault_of(result, executor, "a call");
  }
  static ExecutorEnd signalled(int number) {
    sandbox::Exit exit;
    exit.signalled = true;
    exit.code = number;
    return {.exit = exit};
  }
  static ExecutorEnd failed(Failure failure) { return {.exit = std::nullopt, .failure = failure}; }
};

TEST_F(ExecutorFaultTest, NoAnswerIsATimeoutWhateverTheProcessSays) {
  const Fault late = fault(LaunchEnd::kTimeout, failed(Failure::kException));
  EXPECT_EQ(late.outcome, Outcome::kTimeout);
  EXPECT_EQ(late.message, "no answer in time during a call");
}

TEST_F(ExecutorFaultTest, AnAnswerOutOfTurnIsAViolation) {
  const Fault forged = fault(LaunchEnd::kProtocol, {});
  EXPECT_EQ(forged.outcome, Outcome::kViolation);
  EXPECT_EQ(forged.violation, "protocol");
}

TEST_F(ExecutorFaultTest, SignalsAreNamed) {
  const std::pair<int, const char*> names[] = {{SIGSEGV, "a segmentation fault"},
                                               {SIGBUS, "a bus error"},
                                               {SIGABRT, "abort()"},
                                               {SIGFPE, "division by zero"},
                                               {SIGILL, "an illegal instruction"},
                                               {SIGKILL, "SIGKILL"},
                                               {SIGSYS, "that the sandbox forbids"},
                                               {SIGUSR1, "signal 10"}};
  for (const auto& [number, name] : names) {
    const Fault found = fault(LaunchEnd::kExited, signalled(number));
    EXPECT_EQ(found.outcome, Outcome::kRuntimeError) << name;
    EXPECT_THAT(found.message, HasSubstr(name));
    EXPECT_THAT(found.message, HasSubstr("during a call"));
  }
}

// The kernel kills by SIGKILL, which by itself says nothing of memory.
TEST_F(ExecutorFaultTest, TheMemoryLimitExplainsASignalAndAFailure) {
  ExecutorEnd end = signalled(SIGKILL);
  end.exit->out_of_memory = true;
  end.failure = Failure::kException;
  EXPECT_EQ(fault(LaunchEnd::kExited, end).outcome, Outcome::kMemoryLimit);
}

// The claim is the executor's own; the kernel's signal is the proof.
TEST_F(ExecutorFaultTest, OnlyASignalOnAnInputIsAWriteToIt) {
  ExecutorEnd end = signalled(SIGSEGV);
  end.fault_on_input = true;
  const Fault write = fault(LaunchEnd::kExited, end);
  EXPECT_EQ(write.outcome, Outcome::kViolation);
  EXPECT_EQ(write.violation, "input_write");
  end.exit->signalled = false;
  end.exit->code = 3;
  const Fault exited = fault(LaunchEnd::kExited, end);
  EXPECT_EQ(exited.outcome, Outcome::kRuntimeError);
  EXPECT_EQ(exited.message, "the process ended with exit code 3 during a call");
}

TEST_F(ExecutorFaultTest, FailuresHaveTheirOutcome) {
  const std::pair<Failure, Outcome> failures[] = {
      {Failure::kLoad, Outcome::kRuntimeError},
      {Failure::kEntryMissing, Outcome::kRuntimeError},
      {Failure::kException, Outcome::kRuntimeError},
      {Failure::kOutputKind, Outcome::kWrongShape},
      {Failure::kOutputCount, Outcome::kWrongShape},
      {Failure::kUnsupported, Outcome::kRuntimeError},  // it may not excuse itself
      {Failure::kKernelFault, Outcome::kRuntimeError},
      {Failure::kLaunchRefused, Outcome::kRuntimeError},
      {Failure::kDeviceMemory, Outcome::kMemoryLimit},
      {Failure::kKernelTimeout, Outcome::kTimeout},
  };
  std::set<std::string> messages;
  for (const auto& [failure, outcome] : failures) {
    const Fault found = fault(LaunchEnd::kFailed, failed(failure));
    EXPECT_EQ(found.outcome, outcome) << found.message;
    EXPECT_EQ(found.violation, "");
    messages.insert(found.message);
  }
  EXPECT_EQ(messages.size(), std::size(failures));
  EXPECT_EQ(fault(LaunchEnd::kFailed, {}).message, "it failed during a call");
}

}  // namespace
}  // namespace kw::gym
