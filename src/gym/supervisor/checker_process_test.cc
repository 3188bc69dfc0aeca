// The supervisor's end of a checker's socket; the test plays the checker.
#include "gym/supervisor/checker_process.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckerProcessTest : public ::testing::Test, public ResourceLease {
 protected:
  CheckerProcessTest() {
    os::SocketPair pair = os::make_message_socket_pair().value();
    checker_ = std::move(pair.second);
    process_ = CheckerProcess::over(std::move(pair.first));
  }
  Status acquire() override {
    if (on_acquire_) on_acquire_();
    if (lease_error_) return tl::unexpected(*lease_error_);
    lease_.emplace_back("acquired");
    return {};
  }
  void release() override { lease_.emplace_back("released"); }

  // Sends a signal as the checker does; it lies in the socket until somebody reads it.
  void send_signal(Signal signal) {
    ASSERT_TRUE(os::send_message(checker_.get(), to_json(signal)));
  }
  void answer(const CheckerAnswer& with) {
    os::UniqueFd file = os::make_sealed_file("answer", to_json(with).dump()).value();
    ASSERT_TRUE(os::send_message(checker_.get(), to_json(Signal::kAnswer), {file.get()}));
  }
  Result<KernelBenchTried> get() {
    return process_->answer<KernelBenchTried>(*this, stop_.get_token());
  }
  Result<os::Message> received() {
    return os::receive_message(checker_.get(), std::chrono::milliseconds(0));
  }

  os::UniqueFd checker_;
  std::unique_ptr<CheckerProcess> process_;
  std::vector<std::string> lease_;
  std::function<void()> on_acquire_;
  std::optional<Error> lease_error_;
  std::stop_source stop_;
};

TEST_F(CheckerProcessTest, SendsTheRequestWithItsDescriptors) {
  OutgoingFds fds;
  os::UniqueFd source = os::make_sealed_file("source", "x").value();
  fds.add("candidate.source", source.get());
  JudgeRequest request;
  request.goal.process_pairs = 8;
  request.candidate.monitor = Json::object();
  ASSERT_TRUE(process_->send(request, fds));
  auto message = received();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->body["fds"], Json::array({"candidate.source"}));
  ASSERT_EQ(message->fds.size(), 1U);
  auto read = checker_request_from_json(message->body);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(std::get<JudgeRequest>(*read).goal.process_pairs, 8);
}

TEST_F(CheckerProcessTest, GrantsTheLeaseAsOftenAsItIsAskedFor) {
  for (int i = 0; i < 2; ++i) {
    send_signal(Signal::kLease);
    send_signal(Signal::kRelease);
  }
  answer(KernelBenchTried{true});
  auto tried = get();
  ASSERT_TRUE(tried) << tried.error().message();
  EXPECT_TRUE(tried->correctness);
  EXPECT_THAT(lease_, ElementsAre("acquired", "released", "acquired", "released"));
  EXPECT_EQ(received()->body, to_json(Signal::kGranted));
  EXPECT_EQ(received()->body, to_json(Signal::kGranted));
  EXPECT_FALSE(received());
}

TEST_F(CheckerProcessTest, AnAnswerEndsTheLease) {
  send_signal(Signal::kLease);
  answer(KernelBenchTried{false});
  ASSERT_TRUE(get());
  EXPECT_THAT(lease_, ElementsAre("acquired", "released"));
}

TEST_F(CheckerProcessTest, ACheckerThatDiesGivesTheLeaseBack) {
  send_signal(Signal::kLease);
  on_acquire_ = [this] { checker_.reset(); };
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(lease_, ElementsAre("acquired", "released"));
}

TEST_F(CheckerProcessTest, ACheckerThatHasDiedIsUnavailable) {
  checker_.reset();
  auto sent = process_->send(KernelBenchRequest{}, {});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), ErrorCode::kUnavailable);
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(tried.error().message(), HasSubstr("the checker"));
}

TEST_F(CheckerProcessTest, AStopEndsTheWaitAndTheLease) {
  send_signal(Signal::kLease);
  on_acquire_ = [this] { stop_.request_stop(); };
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kCancelled);
  EXPECT_THAT(lease_, ElementsAre("acquired", "released"));
}

TEST_F(CheckerProcessTest, ALeaseThatFailsIsNotGrantedAndNotReleased) {
  lease_error_ = Error(ErrorCode::kInternal, "no lock");
  send_signal(Signal::kLease);
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().message(), "no lock");
  EXPECT_THAT(lease_, IsEmpty());
  EXPECT_FALSE(received());
}

TEST_F(CheckerProcessTest, ARequestThatFailedIsItsError) {
  answer(CheckerFailed{ErrorCode::kResourceExhausted, "no memory for the pair"});
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(tried.error().message(), "no memory for the pair");
}

TEST_F(CheckerProcessTest, AnAnswerToAnotherRequestIsABugOfOurs) {
  answer(BaselineStarted{});
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kInternal);
}

TEST_F(CheckerProcessTest, SignalsOutOfTurnAreABugOfOurs) {
  send_signal(Signal::kGranted);  // the supervisor's own
  auto tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kInternal);
  send_signal(Signal::kAnswer);  // without a file
  tried = get();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace kw::gym
