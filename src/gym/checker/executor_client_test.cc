// The host's executor over the real pages and descriptors; the process at their other end is the
// test, which acts when it is thawed.
#include "gym/checker/executor_client.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/host_memory.h"
#include "gym/checker/testing/fake_clock.h"
#include "gym/checker/testing/fake_monitor.h"
#include "gym/checker/testing/fake_workload.h"
#include "gym/checker/testing/vector_memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeClock;
using testing::FakeMonitor;

class ExecutorClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signature_ = testing::workload_signature();
    for (int s = 0; s < 2; ++s) {
      inputs_.push_back(
          memory_.allocate("inputs", Layout::for_reading(tensors_of(signature_.inputs)), true)
              .value());
    }
    output_ = OutputMemory::make(memory_, signature_, 2).value();
    clock_.step = std::chrono::microseconds(10);  // so that every wait ends
  }

  os::UniqueFd its_end_;  // of the control socket
  void attach(ExecutorSetup setup = {}) {
    ExecutorMemory memory;
    for (const auto& set : inputs_) memory.inputs.push_back(set.get());
    memory.output = &output_;
    auto sockets = os::make_message_socket_pair().value();
    ExecutorClient::Attach attach;
    attach.control = std::move(sockets.first);
    attach.monitor = std::make_unique<FakeMonitor>(process_);
    attach.source = os::make_sealed_file("source", "").value();
    attach.setup = std::move(setup);
    attach.turn = &turn_;
    attach.clock = &clock_;
    attach.gpu_busy = &gpu_busy_;
    client_ = ExecutorClient::attach(std::move(attach), signature_, memory).value();
    message_ = os::receive_message(sockets.second.get(), seconds(5)).value();
    its_end_ = std::move(sockets.second);
    command_ = os::Mapping::shared(message_.fds.at(0).get(), sizeof(CommandPage), false).value();
    reply_ = os::Mapping::shared(message_.fds.at(1).get(), sizeof(ReplyPage), true).value();
  }
  const CommandPage& command() { return *reinterpret_cast<const CommandPage*>(command_.data()); }
  ReplyPage& reply() { return *reinterpret_cast<ReplyPage*>(reply_.data()); }
  void be_ready() {
    reply().style = static_cast<std::uint32_t>(Style::kDestinationPassing);
    reply().state = static_cast<std::uint32_t>(ExecutorState::kReady);
  }
  // Loads, and answers from now on as a well-behaved executor.
  void load() {
    be_ready();
    ASSERT_EQ(client_->load(seconds(1)).value().end, LaunchEnd::kDone);
    process_.on_thaw = [this] {
      process_.cpu_time += milliseconds(3);
      process_.first_thread.ran += milliseconds(3);
      process_.first_thread.waited += milliseconds(1);
      process_.page_faults.first_process += 7;
      clock_.advance(milliseconds(4));
      reply().done_seq = command().launch_seq;
    };
  }
  LaunchEnd launch_end() {
    const std::uint32_t set = 0;
    return client_->launch(std::span(&set, 1), milliseconds(20)).value().end;
  }

  os::TempDir folder_ = os::TempDir::make("kw-executor-").value();
  Turn turn_{testing::lone_lock(folder_)};
  FakeClock clock_;
  BusyTime gpu_busy_;
  FakeMonitor::Process process_;
  HostAllocator memory_;
  task::Signature signature_;
  std::vector<std::unique_ptr<TensorMemory>> inputs_;
  OutputMemory output_;
  std::unique_ptr<ExecutorClient> client_;
  os::Message message_;
  os::Mapping command_, reply_;
};

TEST_F(ExecutorClientTest, SendsItsSetup) {
  attach();
  EXPECT_EQ(message_.body["op"], "setup");
  EXPECT_EQ(message_.body["fds"],
            Json({"command", "reply", "source", "in0", "out0", "in1", "out1"}));
  EXPECT_EQ(message_.body["sets"], 2);
  EXPECT_EQ(message_.body["frozen"], true);
  EXPECT_EQ(message_.body["language"], "cpp");
  // Inputs and commands are for reading only.
  EXPECT_FALSE(os::Mapping::shared(message_.fds.at(3).get(), 4096, true));
  EXPECT_FALSE(os::Mapping::shared(message_.fds.at(0).get(), 4096, true));
  EXPECT_TRUE(os::Mapping::shared(message_.fds.at(4).get(), 4096, true));
}

TEST_F(ExecutorClientTest, IsFrozenFromReadyToTheLaunchAndAfterIt) {
  attach();
  load();
  EXPECT_TRUE(process_.is_frozen);
  const std::array<std::uint32_t, 2> sets = {1, 0};
  const LaunchResult result = client_->launch(sets, seconds(1)).value();
  EXPECT_EQ(result.end, LaunchEnd::kDone);
  EXPECT_TRUE(process_.is_frozen);
  EXPECT_TRUE(client_->is_still_between_launches());
  EXPECT_EQ(command().calls, 2U);
  EXPECT_EQ(command().set_of_call[0], 1U);
  EXPECT_EQ(command().input_offset[1][0], inputs_[1]->layout().offset(0));
  EXPECT_EQ(command().output_offset[1][0], output_.destinations[1]->layout().offset(0));
  // From before the thaw to after the freeze, and what the sandbox used in between.
  EXPECT_GE(result.wall, milliseconds(4));
  EXPECT_LT(result.wall, milliseconds(5));
  EXPECT_EQ(result.cpu_time, milliseconds(3));
  EXPECT_EQ(result.waited, milliseconds(1));
  EXPECT_EQ(result.processor_time, result.wall - milliseconds(1));
  EXPECT_EQ(result.page_faults, 7U);
}

TEST_F(ExecutorClientTest, FaultsAndWaitingOfItsOtherProcessesCount) {
  attach();
  load();
  process_.on_thaw = [this] {
    process_.cpu_time += milliseconds(1);
    process_.waited += milliseconds(2);
    process_.page_faults.first_process += 7;
    process_.page_faults.group += 100;
    clock_.advance(milliseconds(4));
    reply().done_seq = command().launch_seq;
  };
  const std::uint32_t set = 0;
  const LaunchResult result = client_->launch(std::span(&set, 1), seconds(1)).value();
  EXPECT_EQ(result.page_faults, 100U);
  EXPECT_EQ(result.waited, milliseconds(2));
  EXPECT_EQ(result.processor_time, result.wall - milliseconds(2));
}

TEST_F(ExecutorClientTest, WithoutTheTimeOfAllProcessesThereIsNoProcessorTime) {
  process_.cpu_time_is_whole = false;
  attach();
  load();
  const std::uint32_t set = 0;
  const LaunchResult result = client_->launch(std::span(&set, 1), seconds(1)).value();
  EXPECT_EQ(result.cpu_time, milliseconds(3));
  EXPECT_EQ(result.processor_time, milliseconds(0));
}

TEST_F(ExecutorClientTest, WorkWhileItIsFrozenIsTold) {
  attach();
  load();
  const std::uint32_t set = 0;
  auto launched = [&] { return client_->launch(std::span(&set, 1), seconds(1)).value(); };
  LaunchResult result = launched();
  EXPECT_EQ(result.ran_at_rest, milliseconds(0));
  EXPECT_FALSE(result.was_moving);
  process_.cpu_time += milliseconds(2);
  process_.is_still = false;
  result = launched();
  EXPECT_EQ(result.ran_at_rest, milliseconds(2));
  EXPECT_TRUE(result.was_moving);
  process_.is_still = true;
  result = launched();
  EXPECT_EQ(result.ran_at_rest, milliseconds(0));
  EXPECT_FALSE(result.was_moving);
}

// The kernel counts what ran before the freeze some milliseconds later.
TEST_F(ExecutorClientTest, WatchedAtRestTheEndOfALaunchIsNoWork) {
  for (const bool is_watched : {false, true}) {
    attach();
    load();
    if (is_watched) client_->watch_at_rest();
    const std::uint32_t set = 0;
    auto launched = [&] { return client_->launch(std::span(&set, 1), seconds(1)).value(); };
    int late_parts = 3;
    clock_.on_sleep = [&] {
      if (process_.is_frozen && late_parts-- > 0) process_.cpu_time += milliseconds(1);
    };
    launched();
    clock_.on_sleep = nullptr;
    while (late_parts-- > 0) process_.cpu_time += milliseconds(1);  // counted in any case
    EXPECT_EQ(launched().ran_at_rest, milliseconds(is_watched ? 0 : 3));
    process_.cpu_time += milliseconds(2);
    EXPECT_EQ(launched().ran_at_rest, milliseconds(2));
    // It never comes to rest, and is not waited for.
    clock_.on_sleep = [&] { process_.cpu_time += milliseconds(1); };
    const auto begun = clock_.slept;
    launched();
    EXPECT_LE(clock_.slept - begun, milliseconds(20));
    clock_.on_sleep = nullptr;
  }
}

TEST_F(ExecutorClientTest, AnExecutorThatDoesNotAnswerIsLateAndFrozen) {
  attach();
  load();
  process_.on_thaw = nullptr;
  EXPECT_EQ(launch_end(), LaunchEnd::kTimeout);
  EXPECT_TRUE(process_.is_frozen);
}

TEST_F(ExecutorClientTest, AnAnswerOutOfTurnIsTheProtocols) {
  attach();
  load();
  process_.on_thaw = [this] { reply().done_seq = command().launch_seq + 1; };
  EXPECT_EQ(launch_end(), LaunchEnd::kProtocol);
}

TEST_F(ExecutorClientTest, AnEndBetweenDoneAndTheFreezeIsTheExecutors) {
  attach();
  load();
  process_.on_freeze = [this] { process_.exit = sandbox::Exit{.code = 3}; };
  EXPECT_EQ(launch_end(), LaunchEnd::kExited);
}

TEST_F(ExecutorClientTest, AnEndBeforeTheOrderIsTheExecutors) {
  attach();
  load();
  process_.exit = sandbox::Exit{.code = 3};
  EXPECT_EQ(launch_end(), LaunchEnd::kExited);
}

// It must still be done when it stands still.
TEST_F(ExecutorClientTest, ADoneThatIsTakenBackIsTheProtocols) {
  attach();
  load();
  process_.on_thaw = [this] { reply().done_seq = command().launch_seq; };
  process_.on_freeze = [this] { reply().done_seq = 0; };
  EXPECT_EQ(launch_end(), LaunchEnd::kProtocol);
}

TEST_F(ExecutorClientTest, AnExitIsSeenAndItsStatusKept) {
  attach();
  load();
  process_.on_thaw = [this] {
    sandbox::Exit exit;
    exit.signalled = true;
    exit.code = 11;
    process_.exit = exit;
    reply().fault_on_input = 1;
  };
  EXPECT_EQ(launch_end(), LaunchEnd::kExited);
  const ExecutorEnd end = client_->end();
  ASSERT_TRUE(end.exit);
  EXPECT_EQ(end.exit->code, 11);
  EXPECT_TRUE(end.fault_on_input);
}

TEST_F(ExecutorClientTest, AFailureIsReadFromThePage) {
  attach();
  load();
  process_.on_thaw = [this] {
    reply().failure = static_cast<std::uint32_t>(Failure::kException);
    reply().state = static_cast<std::uint32_t>(ExecutorState::kFailed);
  };
  EXPECT_EQ(launch_end(), LaunchEnd::kFailed);
  EXPECT_EQ(client_->end().failure, Failure::kException);
}

// Its host code is ours, so a freeze would only take time.
TEST_F(ExecutorClientTest, AGpusExecutorIsFrozenOnlyWhileItRests) {
  ExecutorSetup setup;
  setup.device = 0;
  attach(std::move(setup));
  be_ready();
  ASSERT_EQ(client_->load(seconds(1)).value().end, LaunchEnd::kDone);
  const std::uint32_t set = 0;
  std::atomic<bool> is_over = false;
  std::jthread process([&] {  // it runs all the time
    while (!is_over) reply().done_seq = command().launch_seq;
  });
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client_->launch(std::span(&set, 1), seconds(1)).value().end, LaunchEnd::kDone);
  EXPECT_EQ(process_.freezes, 0);
  EXPECT_TRUE(client_->is_still_between_launches());
  ASSERT_TRUE(client_->rest());
  EXPECT_TRUE(process_.is_frozen);
  EXPECT_EQ(client_->launch(std::span(&set, 1), seconds(1)).value().end, LaunchEnd::kDone);
  EXPECT_FALSE(process_.is_frozen);
  is_over = true;
}

TEST_F(ExecutorClientTest, AnExecutorOfPlansTakesAnotherOne) {
  attach();
  load();
  EXPECT_EQ(client_->replace(os::make_sealed_file("source", "").value()).error().code(),
            ErrorCode::kUnsupported);
  ExecutorSetup setup;
  setup.language = ExecutorLanguage::kPlan;
  attach(std::move(setup));
  load();
  ASSERT_TRUE(client_->replace(os::make_sealed_file("source", "another").value()));
  const os::Message program = os::receive_message(its_end_.get(), seconds(5)).value();
  EXPECT_EQ(os::read_to_end(program.fds.at(0).get(), 100).value(), "another");
  const std::uint64_t before = command().launch_seq;
  EXPECT_EQ(client_->load(seconds(1)).value().end, LaunchEnd::kDone);
  EXPECT_EQ(command().launch_seq, before + 1);
  EXPECT_EQ(command().op, static_cast<std::uint32_t>(Op::kLoad));
}

// The page of an executor on the processor is its candidate's to write.
TEST_F(ExecutorClientTest, OnlyAGpusExecutorHasAClockOfItsOwn) {
  const std::uint32_t set = 0;
  for (const bool on_device : {false, true}) {
    ExecutorSetup setup;
    if (on_device) setup.device = 0;
    attach(std::move(setup));
    load();
    reply().device_ns = 1'000'000;
    reply().device_span_ns = 2'000'000;
    const auto launched = [&] {
      EXPECT_TRUE(client_->rest());  // the process acts when it is thawed
      return client_->launch(std::span(&set, 1), seconds(1)).value();
    };
    LaunchResult result = launched();
    EXPECT_EQ(gpu_busy_.total().count() > 0, on_device);
    EXPECT_EQ(result.device_time, milliseconds(on_device ? 1 : 0));
    EXPECT_EQ(result.device_span, milliseconds(on_device ? 2 : 0));
    // Neither is longer than what it is a part of.
    reply().device_ns = 3'000'000;
    result = launched();
    EXPECT_EQ(result.device_time, result.device_span);
    reply().device_ns = reply().device_span_ns = UINT64_MAX;
    result = launched();
    EXPECT_EQ(result.device_time, on_device ? result.wall : milliseconds(0));
  }
  EXPECT_GT(message_.body["input_bytes"], 256 * 4);
  EXPECT_EQ(message_.body["output_bytes"], output_.destinations[0]->layout().total_bytes());
}

TEST_F(ExecutorClientTest, InputsAndPoisonAreThereBeforeALaunch) {
  attach();
  auto settled = std::make_unique<testing::SettledTensors>(
      Layout::for_writing(tensors_of(signature_.outputs)));
  const testing::SettledTensors& output = *settled;
  output_.destinations[0] = std::move(settled);
  load();
  const int before = output.settled;
  int at_launch = before;
  process_.on_thaw = [&, answers = process_.on_thaw] {
    at_launch = output.settled;
    answers();
  };
  EXPECT_EQ(launch_end(), LaunchEnd::kDone);
  EXPECT_GT(at_launch, before);
}

TEST_F(ExecutorClientTest, WaitsForLoadingAndNoLonger) {
  attach();
  EXPECT_EQ(client_->load(milliseconds(1)).value().end, LaunchEnd::kTimeout);
  be_ready();
  reply().style = 77;
  EXPECT_EQ(client_->load(milliseconds(1)).value().end, LaunchEnd::kProtocol);
  reply().state = static_cast<std::uint32_t>(ExecutorState::kFailed);
  EXPECT_EQ(client_->load(milliseconds(1)).value().end, LaunchEnd::kFailed);
}

TEST_F(ExecutorClientTest, WhatCannotBeFrozenIsNeverStill) {
  process_.can_freeze = false;
  attach();
  be_ready();
  ASSERT_EQ(client_->load(seconds(1)).value().end, LaunchEnd::kDone);
  EXPECT_FALSE(client_->is_still_between_launches());
  EXPECT_EQ(message_.body["frozen"], false);
  EXPECT_EQ(process_.freezes, 0);
}

TEST_F(ExecutorClientTest, KernelsOfTritonAreCopiedAndBounded) {
  ExecutorSetup setup;
  setup.triton = TritonSetup{.arch = 90, .compiled = {}};
  attach(setup);
  load();
  reply().kernel_count = kMaxKernels + 5;
  reply().kernels[2].launches = 9;
  const KernelLaunches launches = client_->kernel_launches().value();
  EXPECT_EQ(launches.kernel_count, kMaxKernels + 5);
  ASSERT_EQ(launches.kernels.size(), kMaxKernels);
  EXPECT_EQ(launches.kernels[2].launches, 9U);
}

}  // namespace
}  // namespace kw::gym
