// A server as a proposer: one try a call, each failure with its kind and cost, budgets and
// deadlines over all tries.
#include "search/server_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"

namespace kw::search {
namespace {

using namespace openai::testing;  // NOLINT(google-build-using-namespace): answers by name
using ::testing::HasSubstr;

constexpr double kPrice = 100000;  // 0.1 a token

class ServerProposerTest : public testing::Test {
 protected:
  Result<Proposed> ask(const ScriptedServer& server, int attempt = 0, std::stop_token stop = {}) {
    if (!proposer) {
      settings.base_url = server.url();
      settings.clock = &clock;
      settings.prices.completion = kPrice;
      auto made = ServerProposer::make(settings, "fake", sampling);
      EXPECT_TRUE(made);
      proposer = std::move(*made);
    }
    ProposalRequest request;
    request.key = "p";
    request.attempt = attempt;
    request.messages = {{"user", "Write a kernel that adds two vectors of ten million floats."}};
    return proposer->propose(request, std::move(stop));
  }
  NoAnswer none(const Act& act) {
    proposer.reset();
    ScriptedServer server({act});
    auto proposed = ask(server);
    EXPECT_TRUE(proposed) << proposed.error().message();
    EXPECT_EQ(server.requests(), 1);
    return std::get<NoAnswer>(*proposed);
  }
  Proposal proposal(const Act& act) {
    proposer.reset();
    ScriptedServer server({act});
    return std::get<Proposal>(ask(server).value());
  }

  FakeClock clock;
  openai::ChatSettings settings;
  Sampling sampling{1, 1, 10};
  std::unique_ptr<ServerProposer> proposer;
};

TEST_F(ServerProposerTest, OneTryACallWithItsKind) {
  const std::string busy = R"({"error": {"message": "busy"}})";
  const auto says = [&](const Act& act, const std::string& kind, bool again, bool costs) {
    const NoAnswer out = none(act);
    ASSERT_EQ(out.failed.size(), 1U) << kind;
    EXPECT_EQ(out.failed[0].kind, kind);
    EXPECT_EQ(out.again, again) << kind;
    EXPECT_EQ(out.failed[0].usage.tokens() > 0, costs) << kind;
    EXPECT_EQ(out.failed[0].usage.estimated, costs) << kind;
  };
  says(http(429, busy), "rate_limited", true, false);
  says(http(503, busy), "server_error", true, false);
  says(stream_head() + chunk("extern"), "cut", true, true);
  says(http(200, "<html>"), "malformed", true, true);
  says(http(429, R"({"error": {"code": "insufficient_quota", "message": "pay"}})"), "refused",
       false, false);
  says(http(401, busy), "refused", false, false);
  says(http(302, "", "text/plain", "Location: http://else\r\n"), "redirected", false, false);
}

TEST_F(ServerProposerTest, WhatACutAnswerCosts) {
  const NoAnswer out = none(stream_head() + chunk("0123456789"));
  EXPECT_EQ(out.failed[0].usage.completion_tokens, 4);
  EXPECT_DOUBLE_EQ(out.failed[0].usage.cost_usd, 0.4);
}

TEST_F(ServerProposerTest, FinishesAndSuspicions) {
  EXPECT_EQ(proposal(answer("x")).finish, text::Finish::kStop);
  EXPECT_EQ(proposal(answer("x")).usage, (text::Usage{10, 5, 0.5, false}));
  EXPECT_EQ(proposal(answer("x", "length")).finish, text::Finish::kLength);
  EXPECT_EQ(proposal(answer("x", "content_filter")).finish, text::Finish::kRefused);
  EXPECT_EQ(proposal(answer("")).suspicion, "empty");
  EXPECT_EQ(proposal(answer("<|im_start|>assistant")).suspicion, "template_tokens");
  EXPECT_EQ(proposal(answer("Write a kernel that adds two vectors of ten million floats. Yes."))
                .suspicion,
            "prompt_echo");
}

TEST_F(ServerProposerTest, ReasoningStandsBesideTheAnswer) {
  const Proposal out = proposal(http(
      200,
      R"({"choices": [{"message": {"content": "x", "reasoning_content": "hm"}, "finish_reason": "stop"}]})"));
  EXPECT_EQ(out.answer, "x");
  EXPECT_EQ(out.reasoning, "hm");
  EXPECT_EQ(proposal(answer("x")).reasoning, "");
}

TEST_F(ServerProposerTest, TheDeadlineIsOfAllTries) {
  settings.timeouts.deadline = std::chrono::seconds(100);
  ScriptedServer server({http(500, "{}")});
  EXPECT_TRUE(std::get<NoAnswer>(ask(server).value()).again);
  clock.advance(std::chrono::seconds(99));
  EXPECT_TRUE(std::get<NoAnswer>(ask(server).value()).again);
  clock.advance(std::chrono::seconds(1));
  const auto late = std::get<NoAnswer>(ask(server).value());
  EXPECT_FALSE(late.again);
  EXPECT_EQ(late.failed.at(0).kind, "timeout");
  EXPECT_THAT(late.failed[0].error.message(), HasSubstr("deadline of 100 s"));
  EXPECT_EQ(server.requests(), 2);
  EXPECT_TRUE(std::get<NoAnswer>(ask(server, 1).value()).again);  // another attempt has its own
}

TEST_F(ServerProposerTest, ABudgetIsAnEndAndCountsWhatWasSpentBefore) {
  ScriptedServer server({answer("x")});  // 10 + 5 tokens, of 10 answered at most: 0.5 of 1
  settings.budget.cost = 2.2;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::holds_alternative<Proposal>(ask(server).value()));
  auto end = std::get<Exhausted>(ask(server).value());
  EXPECT_EQ(end.end, runlog::End::kCost);
  EXPECT_THAT(end.reason, HasSubstr("budget of 2.2 has 1.5 spent"));
  proposer.reset();
  settings.budget.spent_cost = 1.5;
  EXPECT_EQ(std::get<Exhausted>(ask(server).value()).end, runlog::End::kCost);
  EXPECT_EQ(server.requests(), 3);
  proposer.reset();
  settings.budget = {0, 1000, 0, 990};
  EXPECT_EQ(std::get<Exhausted>(ask(server).value()).end, runlog::End::kTokens);
  proposer.reset();
  settings.budget = {1000, 1000, 1.5, 990};
  EXPECT_EQ(std::get<Exhausted>(ask(server).value()).end, runlog::End::kTokens);
}

TEST_F(ServerProposerTest, OfAHedgedPairBothArePaid) {
  settings.hedge_after = std::chrono::seconds(1);  // the server has the first by then
  ScriptedServer slow([](const Received& request) {
    return request.number == 0 ? Act("", true) : Act(answer("second"));
  });
  const auto second = std::get<Proposal>(ask(slow).value());
  EXPECT_EQ(second.answer, "second");
  EXPECT_TRUE(second.failed.empty());
  EXPECT_GT(second.usage.prompt_tokens, 10);  // with an estimate of the first's
  EXPECT_TRUE(second.usage.estimated);
}

TEST_F(ServerProposerTest, OfAHedgedPairBothFailuresAreKept) {
  settings.hedge_after = std::chrono::seconds(1);  // the server has the first by then
  ScriptedServer* self = nullptr;
  ScriptedServer server([&](const Received& request) {
    if (request.number == 0) return Act("", true, http(500, "{}"));
    self->release();
    return Act(http(429, "{}"));
  });
  self = &server;
  const auto out = std::get<NoAnswer>(ask(server).value());
  ASSERT_EQ(out.failed.size(), 2U);
  EXPECT_EQ(out.failed[0].kind, "rate_limited");
  EXPECT_EQ(out.failed[1].kind, "server_error");  // the first request's
  EXPECT_TRUE(out.again);
}

}  // namespace
}  // namespace kw::search
