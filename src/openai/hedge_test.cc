// Races of two attempts.
#include "openai/hedge.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "net/testing/test_server.h"

namespace kw::openai {
namespace {

using net::testing::Channel;
using std::chrono::hours;
using std::chrono::milliseconds;

Reply reply_of(Outcome outcome, const std::string& message) {
  Reply out;
  out.outcome = outcome;
  out.message = message;
  return out;
}

// Waits for stop, as a request does.
Reply until_stopped(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any change;
  std::unique_lock lock(mutex);
  change.wait(lock, stop, [] { return false; });
  return reply_of(Outcome::kCancelled, "stopped");
}

TEST(Hedge, AQuickFirstIsAlone) {
  auto pair = run_hedged([](const auto&) { return reply_of(Outcome::kAnswered, "first"); },
                         [](const auto&) -> std::optional<Reply> {
                           ADD_FAILURE() << "not slow";
                           return std::nullopt;
                         },
                         hours(1), {});
  EXPECT_FALSE(pair.hedged);
  EXPECT_FALSE(pair.second_won);
  EXPECT_EQ(pair.reply.message, "first");
}

TEST(Hedge, TheSecondAnswersAndTheFirstIsStopped) {
  bool stopped = false;
  auto pair = run_hedged(
      [&](const std::stop_token& stop) {
        Reply out = until_stopped(stop);
        stopped = true;
        return out;
      },
      [](const auto&) { return std::optional(reply_of(Outcome::kAnswered, "second")); },
      milliseconds(0), {});
  EXPECT_TRUE(pair.hedged);
  EXPECT_TRUE(pair.second_won);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(pair.reply.message, "second");
}

TEST(Hedge, AFailureDoesNotWin) {
  Channel<int> failed;
  auto pair = run_hedged(
      [&](const auto&) {
        failed.take();
        return reply_of(Outcome::kAnswered, "first");
      },
      [&](const auto&) {
        failed.put(1);
        return std::optional(reply_of(Outcome::kRateLimited, "second"));
      },
      milliseconds(0), {});
  EXPECT_TRUE(pair.hedged);
  EXPECT_FALSE(pair.second_won);
  EXPECT_EQ(pair.reply.message, "first");
}

TEST(Hedge, BothFail) {
  Channel<int> begun;
  auto pair = run_hedged(
      [&](const auto&) {
        begun.take();
        return reply_of(Outcome::kCut, "first");
      },
      [&](const auto&) {
        begun.put(1);
        return std::optional(reply_of(Outcome::kRefused, "second"));
      },
      milliseconds(0), {});
  EXPECT_EQ(pair.reply.message, "first");
}

TEST(Hedge, NoRoomForASecond) {
  Channel<int> asked;
  auto pair = run_hedged(
      [&](const auto&) {
        asked.take();
        return reply_of(Outcome::kAnswered, "first");
      },
      [&](const auto&) -> std::optional<Reply> {
        asked.put(1);
        return std::nullopt;
      },
      milliseconds(0), {});
  EXPECT_FALSE(pair.hedged);
  EXPECT_EQ(pair.reply.message, "first");
}

TEST(Hedge, StopReachesBoth) {
  Channel<int> begun;
  std::stop_source stop;
  std::jthread stopper([&] {
    begun.take();
    stop.request_stop();
  });
  auto pair = run_hedged([](const std::stop_token& mine) { return until_stopped(mine); },
                         [&](const std::stop_token& mine) {
                           begun.put(1);
                           return std::optional(until_stopped(mine));
                         },
                         milliseconds(0), stop.get_token());
  EXPECT_EQ(pair.reply.outcome, Outcome::kCancelled);
}

}  // namespace
}  // namespace kw::openai
