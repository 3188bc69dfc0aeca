// solve with a server that says what the test wants: how often it is asked, what failures and
// answers are counted as, what they cost, limits, and the writer beside a model.
#include <cstdlib>

#include <gmock/gmock.h>

#include "base/text.h"
#include "kernelwright/testing/fakes.h"
#include "openai/testing/scripted_server.h"
#include "runlog/run_folder.h"

namespace kw::front {
namespace {

using openai::testing::Act;
using openai::testing::answer;
using openai::testing::chunk;
using openai::testing::http;
using openai::testing::Received;
using openai::testing::ScriptedServer;
using openai::testing::stream_head;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 10 tokens of prompt and 5 of answer, of 10 at most, at 0.1 each of the latter: an answer costs
// 0.5 and may cost 1.
const std::vector<std::string> kPrices = {"--max-tokens", "10", "--completion-price", "100000"};

class SolveServerTest : public FrontTest {
 protected:
  SolveServerTest() { ::unsetenv("KERNELWRIGHT_API_KEY"); }

  static Act code(int number) {
    return answer(fmt::format(
        "```cpp\nextern \"C\" void run(const float* x, float* y, int64_t N) {{ /* {} */ }}\n```\n",
        number));
  }
  static Act failing(int status, const std::string& code) {
    return http(status, Json{{"error", {{"code", code}, {"message", "no"}}}}.dump());
  }
  // The acts in order, then code that is new each time.
  static ScriptedServer::Script script(std::vector<Act> acts) {
    return [acts = std::move(acts)](const Received& request) {
      const auto number = static_cast<std::size_t>(request.number);
      return number < acts.size() ? acts[number] : code(request.number);
    };
  }
  int solve(const ScriptedServer& server, const std::vector<std::string>& more,
            const std::string& problem = "double") {
    console.out_text.clear();
    console.err_text.clear();
    std::vector<std::string> words = {"solve",           problem,     "--model",      server.url(),
                                      "--run",           path("run"), "--model-name", "fake",
                                      "--retry-seconds", "0",         "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return kernelwright(words);
  }
  int resume() {
    console.out_text.clear();
    return kernelwright({"solve", "--resume", "--run", path("run"), "--json"});
  }
  static std::vector<std::string> with_prices(std::vector<std::string> words) {
    words.insert(words.end(), kPrices.begin(), kPrices.end());
    return words;
  }
  Json row(std::size_t number = 0) const {
    return parse_json(split(console.out_text, '\n').at(number)).value();
  }
  runlog::Run run_of() const { return runlog::RunFolder::read(path("run")).value(); }
};

TEST_F(SolveServerTest, ARequestIsTriedAsOftenAsTriesSay) {
  ScriptedServer busy([](const Received&) { return failing(429, "busy"); });
  EXPECT_EQ(solve(busy, {"--method", "base", "--tries", "4"}), 2);
  EXPECT_EQ(busy.requests(), 4);
  EXPECT_EQ(row()["failures"], 4);
  EXPECT_EQ(row()["failures_by_kind"], (Json{{"rate_limited", 4}}));
  EXPECT_EQ(row()["end"], "failed");
  std::filesystem::remove_all(path("run"));
  ScriptedServer once([](const Received&) { return failing(500, "down"); });
  EXPECT_EQ(solve(once, {"--method", "base", "--tries", "1"}), 2);
  EXPECT_EQ(once.requests(), 1);
  std::filesystem::remove_all(path("run"));
  ScriptedServer twice(script({failing(503, ""), failing(503, "")}));
  EXPECT_EQ(solve(twice, {"--method", "base", "--tries", "3"}), 0);
  EXPECT_EQ(twice.requests(), 3);
}

TEST_F(SolveServerTest, WhatCanNeverSucceedIsAskedOnce) {
  for (const Act& act : {failing(429, "insufficient_quota"), failing(401, "key"),
                         failing(400, "content_filter"), failing(404, "model_not_found")}) {
    std::filesystem::remove_all(path("run"));
    ScriptedServer server({act});
    EXPECT_EQ(solve(server, {"--method", "base"}), 2);
    EXPECT_EQ(server.requests(), 1);
    EXPECT_EQ(row()["failures_by_kind"], (Json{{"refused", 1}}));
  }
}

TEST_F(SolveServerTest, FailuresAndAnswersAreCountedByKind) {
  ScriptedServer server(script({
      failing(429, "busy"),                       // attempt 0
      failing(500, "down"),                       //
      Act(stream_head() + chunk("half an ans")),  //
      http(200, "<html>"),                        //
      answer("int x", "length"),                  //
      answer(""),                                 // 1
      answer("no", "content_filter"),             // 2
      answer("<|im_start|>assistant"),            // 3
  }));
  console.terminal = true;
  EXPECT_EQ(solve(server, with_prices({"--samples", "5", "--parallel", "1", "--tries", "5"})), 0);
  EXPECT_EQ(row()["failures"], 4);
  EXPECT_EQ(row()["failures_by_kind"],
            (Json{{"cut", 1}, {"malformed", 1}, {"rate_limited", 1}, {"server_error", 1}}));
  EXPECT_EQ(row()["odd_answers"],
            (Json{{"empty", 1}, {"length", 1}, {"refused", 1}, {"template_tokens", 1}}));
  EXPECT_EQ(row()["attempts"], 5);
  EXPECT_EQ(row()["estimated"], true);
  // What failed has cost too: five answers, 4 tokens of the cut one, 2 of the page.
  EXPECT_NEAR(row()["cost_usd"].get<double>(), 5 * 0.5 + 0.4 + 0.2, 1e-9);
  // On the log, each with its cost.
  const runlog::Run run = run_of();
  ASSERT_EQ(run.problems[0].failures.size(), 4U);
  EXPECT_DOUBLE_EQ(run.problems[0].failures[2].usage.cost_usd, 0.4);
  EXPECT_EQ(run.problems[0].attempts[2].answered->finish, text::Finish::kRefused);
  // The status line is taken away before a failure's line.
  EXPECT_THAT(console.err_text, HasSubstr("double attempt 0: propose failed: 127.0.0.1:"));
  EXPECT_THAT(console.err_text, Not(HasSubstr(": try 1: ")));
  // The card.
  console.out_text.clear();
  EXPECT_EQ(kernelwright({"solve", "--resume", "--run", path("run")}), 0);
  EXPECT_THAT(console.out_text,
              HasSubstr("  answers    1 empty, 1 length, 1 refused, 1 template_tokens\n"
                        "  failures   4, not of candidates: 1 cut, 1 malformed, 1 rate_limited, 1 "
                        "server_error\n"));
  EXPECT_THAT(console.out_text, HasSubstr(" USD, partly estimated\n"));
}

TEST_F(SolveServerTest, CostsOfTriesThatFailForGoodAreKept) {
  ScriptedServer server([](const Received&) { return Act(stream_head() + chunk("0123456789")); });
  EXPECT_EQ(solve(server, with_prices({"--method", "base", "--tries", "3"})), 2);
  EXPECT_EQ(row()["failures_by_kind"], (Json{{"cut", 3}}));
  EXPECT_NEAR(row()["cost_usd"].get<double>(), 3 * 0.4, 1e-9);
  EXPECT_EQ(row()["attempts"], 0);
}

TEST_F(SolveServerTest, ABudgetIsAStopAndIsGoneOnWith) {
  ScriptedServer server(script({}));
  const std::vector<std::string> words =
      with_prices({"--samples", "8", "--parallel", "1", "--max-cost", "2.2"});
  EXPECT_EQ(solve(server, words), 0);
  EXPECT_EQ(row()["end"], "cost");
  EXPECT_EQ(row()["attempts"], 3);
  EXPECT_THAT(row()["reason"].get<std::string>(), HasSubstr("the budget of 2.2 has 1.5 spent"));
  EXPECT_EQ(row()["failures"], 0);
  std::filesystem::remove_all(path("run"));
  gym.on_judge = [&](const gym::EvalRequest& request) {
    if (request.turn == 1) stop.request_stop();
  };
  EXPECT_EQ(solve(server, words), 130);
  gym.on_judge = nullptr;
  stop = {};
  EXPECT_EQ(resume(), 0) << console.err_text;
  EXPECT_EQ(row()["end"], "cost");
  EXPECT_LE(row()["cost_usd"].get<double>(), 2.2);
  EXPECT_EQ(row()["attempts"], 3);
}

TEST_F(SolveServerTest, ABudgetOfTokensIsAStopToo) {
  ScriptedServer server(script({}));
  EXPECT_EQ(solve(server, {"--samples", "8", "--parallel", "1", "--max-total-tokens", "30000",
                           "--max-tokens", "29970"}),
            1)
      << console.out_text;  // the prompt does not fit beside it
  EXPECT_EQ(row()["end"], "tokens");
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(SolveServerTest, CostOfTheWholeRun) {
  ScriptedServer server(script({}));
  EXPECT_EQ(solve(server,
                  with_prices({"--samples", "4", "--parallel", "1", "--jobs", "1", "--cost", "1"}),
                  path("problems")),
            1);
  EXPECT_EQ(row(0)["end"], "cost");
  EXPECT_EQ(row(0)["attempts"], 2);
  EXPECT_EQ(row(1)["attempts"], 0);
  EXPECT_EQ(row(1)["end"], "cost");
}

TEST_F(SolveServerTest, SecondsOfTheWholeRun) {
  ScriptedServer server(script({}));
  gym.on_judge = [&](const gym::EvalRequest&) { time += std::chrono::seconds(10); };
  EXPECT_EQ(
      solve(server, {"--samples", "4", "--parallel", "1", "--jobs", "1", "--total-seconds", "15"},
            path("problems")),
      1);
  EXPECT_EQ(row(0)["end"], "seconds");
  EXPECT_EQ(row(0)["reason"], "the whole run's");
  EXPECT_EQ(row(0)["attempts"], 2);
  EXPECT_EQ(row(1)["attempts"], 0);
}

TEST_F(SolveServerTest, LimitsOfCostNeedAPrice) {
  ScriptedServer server(script({}));
  for (const char* limit : {"--cost", "--max-cost"}) {
    EXPECT_EQ(solve(server, {limit, "1"}), 2);
    EXPECT_THAT(console.out_text,
                HasSubstr(std::string(limit) + " needs --prompt-price or --completion-price"));
  }
  EXPECT_EQ(kernelwright({"solve", "double", "--cost", "1"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("--cost: the writer costs nothing"));
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(SolveServerTest, ASlowRequestIsHedgedWhereAsked) {
  ScriptedServer server([](const Received& request) {
    return request.number == 0 ? Act("", true) : code(request.number);
  });
  EXPECT_EQ(solve(server, {"--method", "base", "--hedge-after", "0.1"}), 0);
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(row()["attempts"], 1);
  EXPECT_EQ(row()["failures"], 0);
  EXPECT_EQ(row()["estimated"], true);  // what the slower one has cost
}

// The writer's kernels in a run, in order.
std::vector<std::string> labels(const runlog::Run& run) {
  std::vector<std::string> out;
  for (const runlog::Attempt& attempt : run.problems[0].attempts)
    if (attempt.answered && attempt.answered->by == "writer")
      out.push_back(attempt.answered->label);
  return out;
}

TEST_F(SolveServerTest, WithBothTheWriterLeavesNoStrategyOut) {
  for (const char* method : {"best_of_n", "refine"}) {
    // Without a time there is nothing to tune: it goes through its strategies.
    gym.on_verdict = [](task::Verdict& verdict) { verdict.speedup.reset(); };
    std::filesystem::remove_all(path("run"));
    EXPECT_EQ(kernelwright(
                  {"solve", "double", "--run", path("run"), "--method", method, "--samples", "4"}),
              0)
        << console.err_text;
    const std::vector<std::string> alone = labels(run_of());
    ASSERT_EQ(alone.size(), 3U);  // all that differ for a graph that is its input
    std::filesystem::remove_all(path("run"));
    ScriptedServer server(script({}));
    EXPECT_EQ(solve(server, {"--proposer", "both", "--method", method, "--samples", "8"}), 0)
        << console.out_text;
    EXPECT_EQ(labels(run_of()), alone) << method;
    EXPECT_EQ(server.requests(), 5);  // the model goes on alone
  }
}

TEST_F(SolveServerTest, WithBothEachLearnsFromTheOther) {
  ScriptedServer server(script({}));
  EXPECT_EQ(solve(server, {"--proposer", "both", "--samples", "3"}), 0) << console.out_text;
  const runlog::Run run = run_of();
  EXPECT_EQ(run.header.settings["search"]["method"], "refine");
  ASSERT_EQ(run.problems[0].attempts.size(), 3U);
  EXPECT_EQ(run.problems[0].attempts[1].decided.parent, 0);
  EXPECT_THAT(server.received().at(0).json().dump(), HasSubstr("extern \\\"C\\\""));
}

}  // namespace
}  // namespace kw::front
