// What requests cost, and the budgets and rates that they keep to. Waits are the fake clock's.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "openai/chat_client.h"
#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"

namespace kw::openai {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace testing;  // NOLINT(google-build-using-namespace): of these tests' own helpers
using ::testing::HasSubstr;

TEST(ChatClientLimits, CostIsExactWhereTheServerTells) {
  FakeClock clock;
  const std::string body =
      R"({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1000,
          "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 400}}})";
  ScriptedServer server({says(http(200, body))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.prices = {3, 15, 0.3};
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_TRUE(got);
  EXPECT_DOUBLE_EQ(got->cost, (600 * 3 + 400 * 0.3 + 500 * 15) / 1e6);
  EXPECT_TRUE(got->cost_known);
  EXPECT_DOUBLE_EQ(client.counts().cost, got->cost);
  EXPECT_EQ(client.counts().estimated_cost, 0);
}

TEST(ChatClientLimits, WithoutUsageItIsEstimatedAndSaid) {
  FakeClock clock;
  ScriptedServer server(
      {says(http(200, R"({"choices": [{"message": {"content": "012345678"}}]})"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.prices = {1000000, 1000000, {}};
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("abc"));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->usage.estimated);
  EXPECT_FALSE(got->cost_known);
  EXPECT_EQ(got->usage.prompt_tokens, 17);  // 8 + 8 for the template, 1 of text
  EXPECT_EQ(got->usage.completion_tokens, 3);
  EXPECT_DOUBLE_EQ(got->cost, 20);
  EXPECT_EQ(client.counts().estimated_prompt_tokens, 17);
  EXPECT_EQ(client.counts().estimated_completion_tokens, 3);
  EXPECT_DOUBLE_EQ(client.counts().estimated_cost, 20);
}

TEST(ChatClientLimits, AFailedAttemptIsPaidToo) {
  FakeClock clock;
  ScriptedServer server({says(stream_head() + chunk("012345678")), says(streamed({"x"}))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.prices = {1000000, 1000000, {}};
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("abc", true));
  ASSERT_TRUE(got);
  EXPECT_DOUBLE_EQ(got->cost, 17 + 3 + 15);
  EXPECT_FALSE(got->cost_known);
  EXPECT_FALSE(got->usage.estimated);
  EXPECT_DOUBLE_EQ(client.counts().cost, 35);
  EXPECT_DOUBLE_EQ(client.counts().estimated_cost, 20);
}

TEST(ChatClientLimits, ABudgetOfTokensEnds) {
  FakeClock clock;
  ScriptedServer server({says(answer("x"))});  // 15 tokens each
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.budget.tokens = 160;  // a request needs at most 117
  ChatClient client = client_of(settings);
  int answered = 0;
  std::string message;
  for (int i = 0; i < 10; ++i) {
    auto got = client.complete(request_of("a"));
    if (got) {
      ++answered;
    } else {
      EXPECT_EQ(got.error().code(), ErrorCode::kResourceExhausted);
      message = got.error().message();
    }
  }
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(server.requests(), 3);
  EXPECT_THAT(message, HasSubstr("budget of 160 tokens has 45 spent"));
  EXPECT_EQ(client.counts().refused_by_budget, 7);
  EXPECT_EQ(client.counts().failed, 7);
}

TEST(ChatClientLimits, ABudgetOfMoneyHoldsForManyThreads) {
  ScriptedServer server({says(answer("x"))});
  ChatSettings settings = settings_for(server.url(), nullptr);
  settings.prices = {0, 1000000, {}};  // 5 each, 100 at most
  settings.budget.cost = 300;
  ChatClient client = client_of(settings);
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) answered += client.complete(request_of("a")) ? 1 : 0;
      });
  }
  EXPECT_LE(client.counts().cost, 300);
  EXPECT_EQ(answered, 41);  // the last one that fits began at 200
}

TEST(ChatClientLimits, RatesAreKept) {
  FakeClock clock;
  ScriptedServer server({says(answer("x"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.rates.requests_per_minute = 60;
  settings.rates.burst = seconds(1);
  ChatClient client = client_of(settings);
  const auto begin = clock.now();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.complete(request_of("a")));
  EXPECT_NEAR(seconds_of(clock.now() - begin), 4, 1e-6);

  settings.rates = {0, 6000, seconds(2)};  // 117 reserved and 15 used each, 200 at once
  ChatClient by_tokens = client_of(settings);
  const auto then = clock.now();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(by_tokens.complete(request_of("a")));
  EXPECT_NEAR(seconds_of(clock.now() - then), (9 * 15 + 117 - 200) / 100.0, 1e-6);
}

TEST(ChatClientLimits, SoManyAtOnce) {
  std::atomic<int> now = 0, most = 0;
  ScriptedServer server([&](const Received&) {
    int running = ++now;
    int seen = most;
    while (seen < running && !most.compare_exchange_weak(seen, running)) {
    }
    std::this_thread::sleep_for(milliseconds(3));
    --now;
    return says(answer("x"));
  });
  ChatSettings settings = settings_for(server.url(), nullptr);
  settings.concurrency = 3;
  ChatClient client = client_of(settings);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 12; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(client.complete(request_of("a")));
      });
  }
  EXPECT_LE(most, 3);
  EXPECT_EQ(client.counts().answered, 48);
}

}  // namespace
}  // namespace kw::openai
