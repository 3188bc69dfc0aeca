// The checker's request loop over a socket, with a target without processes behind it. All requests
// wait in the socket before the loop begins, and it ends where they end.
#include "gym/checker/server.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "gym/checker/testing/fake_backend.h"
#include "gym/checker/testing/fake_workload.h"
#include "gym/messages/checker_messages.h"
#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

using testing::compute_workload;
using testing::FakeBackend;
using testing::ScriptedOracle;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    backend_.baseline.kernel = compute_workload;
    backend_.candidate.kernel = compute_workload;
  }
  void ask(Json body, const std::vector<std::pair<const char*, int>>& fds = {}) {
    std::vector<int> descriptors;
    body["fds"] = Json::array();
    for (const auto& [name, fd] : fds) {
      body["fds"].push_back(name);
      descriptors.push_back(fd);
    }
    ASSERT_TRUE(os::send_message(pair_.first.get(), body, descriptors));
  }
  // Correctness only: a measurement asks for the lease.
  void ask_to_open() {
    OpenRequest request;
    request.signature = testing::workload_signature();
    request.inputs = {testing::input_plan("x")};
    request.options.timing = false;
    request.oracle_monitor = Json::object();
    const TimingLock lock = testing::lone_lock(folder_);
    const os::UniqueFd reference = os::make_sealed_file("reference", "def run(x): ...").value();
    ask(to_json(CheckerRequest(request)), {{"reference", reference.get()},
                                           {"timing.lock", lock.lock_fd()},
                                           {"timing.queue", lock.queue_fd()}});
  }
  void ask_for_baseline() {
    BaselineRequest request;
    request.baseline.monitor = Json::object();
    ask(to_json(CheckerRequest(request)));
  }
  void ask_to_judge() {
    JudgeRequest request;
    request.candidate.monitor = Json::object();
    ask(to_json(CheckerRequest(request)));
  }
  std::vector<CheckerAnswer> answers(const Result<Backend*>& backend) {
    ::shutdown(pair_.first.get(), SHUT_WR);
    const Status served = serve_checker(pair_.second.get(), backend);
    EXPECT_TRUE(served) << served.error().message();
    std::vector<CheckerAnswer> out;
    while (auto message = os::receive_message(pair_.first.get(), std::chrono::milliseconds(0))) {
      EXPECT_EQ(signal_from_json(message->body).value(), Signal::kAnswer);
      const std::string text = os::read_whole(message->fds.at(0).get(), 1U << 20U).value();
      out.push_back(checker_answer_from_json(parse_json(text).value()).value());
    }
    return out;
  }
  std::vector<CheckerAnswer> answers() { return answers(&backend_); }
  static std::string failure(const CheckerAnswer& answer) {
    const auto* failed = std::get_if<CheckerFailed>(&answer);
    return failed != nullptr ? failed->message : "";
  }

  os::TempDir folder_ = os::TempDir::make("kw-server-").value();
  os::SocketPair pair_ = os::make_message_socket_pair().value();
  FakeBackend backend_{[] { return std::make_unique<ScriptedOracle>(testing::workload_function); }};
};

TEST_F(ServerTest, AnswersRequestsInTheirOrderFromOneSession) {
  ask_to_open();
  ask_for_baseline();
  ask_to_judge();
  ask_to_judge();
  const auto all = answers();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(std::get<Opened>(all[0]).findings.failure, "");
  EXPECT_EQ(std::get<BaselineStarted>(all[1]).failure, "");
  for (const std::size_t i : {2U, 3U})
    EXPECT_EQ(std::get<WorkloadReport>(all[i]).outcome, task::Outcome::kPassed);
}

TEST_F(ServerTest, NothingIsJudgedBeforeAWorkloadIsOpen) {
  ask_for_baseline();
  ask_to_judge();
  const auto all = answers();
  ASSERT_EQ(all.size(), 2U);
  for (const CheckerAnswer& answer : all) EXPECT_EQ(failure(answer), "a request before open");
}

TEST_F(ServerTest, ARequestThatFailsIsAnsweredAndTheNextOneIsServed) {
  ask({{"op", "dance"}});
  Json two_names;
  two_names["fds"] = {"baseline.control", "baseline.source"};
  ASSERT_TRUE(os::send_message(pair_.first.get(), two_names));
  ask_to_open();
  ask_to_judge();  // before a baseline
  ask_for_baseline();
  const auto all = answers();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(std::get<CheckerFailed>(all[0]).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(failure(all[1]), ::testing::HasSubstr("names 2 descriptors and has 0"));
  EXPECT_EQ(failure(all[2]), "");
  EXPECT_EQ(failure(all[3]), "judge before baseline");
  EXPECT_EQ(std::get<BaselineStarted>(all[4]).failure, "");
}

TEST_F(ServerTest, ExecutorsOnAGpuRestWhenNoRequestHasComeForAWhile) {
  std::promise<void> rests;
  int rested = 0;  // by the server's thread
  backend_.baseline.device_clock = backend_.candidate.device_clock = true;
  backend_.baseline.on_rest = backend_.candidate.on_rest = [&] {
    if (++rested == 2) rests.set_value();
  };
  ask_to_open();
  ask_for_baseline();
  ask_to_judge();
  std::thread server([&] { EXPECT_TRUE(serve_checker(pair_.second.get(), &backend_)); });
  EXPECT_EQ(rests.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  ::shutdown(pair_.first.get(), SHUT_WR);
  server.join();
  EXPECT_EQ(rested, 2);
}

// The requests of this test come one right after the other.
TEST_F(ServerTest, ExecutorsOnAGpuAreAwakeWhileRequestsCome) {
  int rested = 0;
  backend_.baseline.device_clock = backend_.candidate.device_clock = true;
  backend_.baseline.on_rest = backend_.candidate.on_rest = [&] { ++rested; };
  ask_to_open();
  ask_for_baseline();
  ask_to_judge();
  ASSERT_EQ(answers().size(), 3U);
  EXPECT_EQ(rested, 0);
}

TEST_F(ServerTest, WithoutABackendEveryRequestIsToldWhy) {
  ask_to_open();
  ask_to_judge();
  const auto all = answers(fail(ErrorCode::kUnsupported, "no GPU has number 7"));
  ASSERT_EQ(all.size(), 2U);
  for (const CheckerAnswer& answer : all) {
    EXPECT_EQ(std::get<CheckerFailed>(answer).code, ErrorCode::kUnsupported);
    EXPECT_EQ(failure(answer), "no GPU has number 7");
  }
}

}  // namespace
}  // namespace kw::gym
