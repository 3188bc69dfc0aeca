// Teach: what is asked, and that it goes on wherever it was cut.
#include "data/teach.h"

#include <algorithm>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/testing/session.h"
#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"

namespace kw::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sample question(const std::string& text) {
  Sample out;
  out.kind = Kind::kDefinition;
  out.language = "cpp";
  out.problem = sample_problem(double_problem()).value();
  out.messages = {{"user", text}};
  out.group = "double";
  return out;
}

class TeachTest : public SessionTest {
 protected:
  Result<TeachReport> teach(const std::string& log, const std::string& url) {
    openai::ChatSettings client = openai::testing::settings_for(url, &clock);
    client.prices = {1000000, 2000000, std::nullopt};
    client.retries.tries = 3;
    client.budget = budget;
    if (max_answer_bytes > 0) client.max_answer_bytes = max_answer_bytes;
    auto out = OutputFile::create(path("out.jsonl"), true);
    auto report =
        teach_dataset(path("in.jsonl"), path(log), *out, teaching, client, {}, stop.get_token());
    if (report) {
      EXPECT_TRUE(out->close());
    }
    return report;
  }
  TeachSettings teaching = [] {
    TeachSettings out;
    out.model = "fake";
    out.concurrency = 3;
    return out;
  }();
  void write_questions(int count) const {
    std::vector<Sample> samples;
    for (int i = 0; i < count; ++i) samples.push_back(question(fmt::format("q{}", i)));
    write("in.jsonl", samples);
  }
  // Questions that are not asked again; requests that are cut off at the end may have cost
  // something, which is in the log too.
  int settled_in(const std::string& name) const {
    int out = -1;  // the header
    for (const std::string& line : split(read(name), '\n'))
      out += !line.empty() && line.find("\"failed\":") == std::string::npos ? 1 : 0;
    return out;
  }

  openai::testing::FakeClock clock;
  openai::Budget budget;
  std::size_t max_answer_bytes = 0;  // 0: as usual
};

std::string last_message(const openai::testing::Received& received) {
  return received.json()["messages"].back()["content"].get<std::string>();
}

TEST_F(TeachTest, AnswersOfAMisbehavingServer) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  std::mutex mutex;
  std::map<std::string, int> asked;
  ScriptedServer server([&](const Received& received) -> Act {
    const std::string text = last_message(received);
    int number = 0;
    {
      std::lock_guard lock(mutex);
      number = ++asked[text];
    }
    if (text == "busy" && number < 3)
      return http(429, "{}", "application/json", "Retry-After: 1\r\n");
    if (text == "error" && number < 2) return http(500, "{}");
    if (text == "cut" && number < 2) {
      Act cut(stream_head() + event(chunk("half")));
      cut.reset = true;
      return cut;
    }
    if (text == "malformed" && number < 2) return http(200, "no JSON");
    if (text == "too long") return http(400, R"({"error": {"message": "context length"}})");
    if (text == "length") return answer("so lo", "length");
    if (text == "empty") return answer("");
    return answer("answer to " + text);
  });
  Sample done = question("done");
  done.messages.push_back({"assistant", "before"});
  write("in.jsonl", {question("plain"), question("busy"), question("error"), question("cut"), done,
                     question("malformed"), question("too long"), question("length"),
                     question("empty"), question("plain")});
  auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  std::vector<std::string> answers;
  for (const Sample& sample : samples_in("out.jsonl")) answers.push_back(sample.answer());
  EXPECT_THAT(answers,
              ElementsAre("answer to plain", "answer to busy", "answer to error", "answer to cut",
                          "before", "answer to malformed", "answer to plain"));
  EXPECT_EQ(asked["plain"], 1);
  EXPECT_EQ(asked["too long"], 1);
  EXPECT_EQ(report->questions, 8U);
  EXPECT_EQ(report->answered, 7U);
  EXPECT_EQ(report->refused, 1U);
  EXPECT_EQ(report->truncated, 1U);
  EXPECT_EQ(report->empty, 1U);
  EXPECT_EQ(report->prompt_tokens, 70);
  EXPECT_GT(report->cost, 70);
  const Sample first = samples_in("out.jsonl")[0];
  EXPECT_EQ(first.origin["teacher"], "fake");
  EXPECT_EQ(first.labels.other["docs"], false);
}

TEST_F(TeachTest, ARedirectEndsItAndIsNoRefusal) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write_questions(30);
  ScriptedServer server({http(301, "", "text/html", "Location: http://127.0.0.1:9/v1\r\n")});
  const auto report = teach("log.jsonl", server.url());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("redirected"));
  EXPECT_LE(server.requests(), 3);
  EXPECT_EQ(settled_in("log.jsonl"), 0);
  ScriptedServer good({answer("fine")});
  ASSERT_TRUE(teach("log.jsonl", good.url()));
  EXPECT_EQ(good.requests(), 30) << "nothing was burned";
}

TEST_F(TeachTest, RefusalsBeforeTheFirstAnswerAreTheRequestsMatter) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  const std::string no = http(400, R"({"error": {"message": "max_tokens is too large"}})");
  teaching.most_failures = 5;
  for (const int questions : {30, 3}) {  // more and fewer than end it
    write_questions(questions);
    ScriptedServer server({no});
    const auto report = teach("log.jsonl", server.url());
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("has answered none"));
    EXPECT_THAT(report.error().message(), HasSubstr("max_tokens is too large"));
    EXPECT_LE(server.requests(), 8);
    EXPECT_EQ(settled_in("log.jsonl"), 0);
    EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
  }
  // Refused first, answered later: then a refusal is the question's own.
  teaching.concurrency = 1;
  ScriptedServer server([&](const Received& received) -> Act {
    return last_message(received) == "q2" ? Act(answer("fine")) : Act(no);
  });
  const auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->refused, 2U);
  EXPECT_EQ(report->written, 1U);
  EXPECT_EQ(settled_in("log.jsonl"), 3);
}

TEST_F(TeachTest, NoSampleToWriteIsAnError) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write_questions(3);
  ScriptedServer server({answer("so lo", "length")});
  const auto report = teach("log.jsonl", server.url());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(report.error().message(), HasSubstr("3 answers were cut off by the token limit"));
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
}

TEST_F(TeachTest, AnAnswerThatIsTooLargeBlocksNothing) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write_questions(6);
  max_answer_bytes = 4096;
  ScriptedServer server([](const Received& received) -> Act {
    return answer(last_message(received) == "q1" ? std::string(20000, 'x') : "fine");
  });
  const auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->too_large, 1U);
  EXPECT_EQ(report->written, 5U);
  const int before = server.requests();
  ASSERT_TRUE(teach("log.jsonl", server.url()));
  EXPECT_EQ(server.requests(), before) << "it is not asked for again";
  // A quota that is used up is another matter.
  std::filesystem::remove(path("log.jsonl"));
  ScriptedServer spent(
      {http(429, R"({"error": {"code": "insufficient_quota", "message": "no money"}})")});
  const auto ended = teach("log.jsonl", spent.url());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(settled_in("log.jsonl"), 0);
}

TEST_F(TeachTest, TheBudgetIsThatOfAllSessions) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write_questions(8);
  teaching.max_tokens = 50;
  teaching.concurrency = 1;
  ScriptedServer server([](const Received& received) -> Act {
    if (last_message(received) == "q0") {  // paid for, and nothing comes of it
      Act cut(stream_head() + event(chunk("half an answer")));
      cut.reset = true;
      return cut;
    }
    return answer("fine");
  });
  teaching.most_failures = 1;
  ASSERT_FALSE(teach("log.jsonl", server.url()));
  EXPECT_EQ(settled_in("log.jsonl"), 0);
  const Json paid = *parse_json(read("log.jsonl").substr(read("log.jsonl").find('\n') + 1));
  EXPECT_GT(paid["spent_tokens"].get<std::int64_t>(), 0);
  EXPECT_GT(paid["cost"].get<double>(), 0);
  EXPECT_TRUE(paid.contains("failed"));
  ScriptedServer good({answer("fine")});
  // The budget minus the tokens spent so far has room for one more worst case, not for two.
  const std::int64_t worst = openai::estimate_prompt_tokens({{"user", "q0"}}) + 50;
  budget.tokens = paid["spent_tokens"].get<std::int64_t>() + worst;
  for (const char* session : {"first", "second"}) {
    const auto ended = teach("log.jsonl", good.url());
    ASSERT_FALSE(ended) << session;
    EXPECT_EQ(ended.error().code(), ErrorCode::kResourceExhausted) << ended.error().message();
    EXPECT_EQ(good.requests(), 1) << session;
  }
  budget = {};
  const auto report = teach("log.jsonl", good.url());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->written, 8U);
  EXPECT_GT(report->cost, 8 * 10 + paid["cost"].get<double>()) << "what failed is paid too";
}

TEST_F(TeachTest, ReasoningIsKeptAndWrittenWhereItIsAskedFor) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write_questions(1);
  ScriptedServer server({http(
      200,
      R"({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "the code", "reasoning_content": "Let me see.\n"}}]})")});
  ASSERT_TRUE(teach("log.jsonl", server.url()));
  EXPECT_EQ(samples_in("out.jsonl")[0].answer(), "the code");
  teaching.reasoning = true;
  ASSERT_TRUE(teach("log.jsonl", server.url())) << "the log is the same";
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(samples_in("out.jsonl")[0].answer(), "<think>\nLet me see.\n</think>\n\nthe code");
}

TEST_F(TeachTest, AllWithTheDocumentationInOneSystemMessage) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  Sample sample = question("q");
  sample.messages.insert(sample.messages.begin(), {"system", "Be brief."});
  write("in.jsonl", {sample});
  teaching.docs = Docs::kOnly;
  teaching.documentation = "THE DOCS";
  ScriptedServer server({answer("fine")});
  const auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->questions, 1U);
  const Json sent = server.received()[0].json()["messages"];
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0]["role"], "system");
  EXPECT_EQ(sent[0]["content"],
            "Documentation that helps with what follows.\n\nTHE DOCS\n\nBe brief.");
  const auto written = samples_in("out.jsonl");
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].messages[0].content, "Be brief.") << "the bare question";
  EXPECT_EQ(written[0].labels.other["docs"], true);
}

TEST_F(TeachTest, EmptyAndBrokenDataSetsAreNamed) {
  std::ofstream(path("in.jsonl")) << "";
  auto report = teach("log.jsonl", "http://127.0.0.1:9");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("in.jsonl: no samples"));
  std::ofstream(path("in.jsonl")) << to_line(question("q")) << "\n{\"cut\n";
  report = teach("log.jsonl", "http://127.0.0.1:9");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("in.jsonl:2: "));
}

TEST_F(TeachTest, PairsSeeTheDocumentationOnceAndShareAGroup) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  ScriptedServer server([](const Received& received) -> Act {
    const Json messages = received.json()["messages"];
    const std::string first = messages[0]["content"].get<std::string>();
    return answer(messages.size() == 2 && first.find("THE DOCS") != std::string::npos ? "with"
                                                                                      : "without");
  });
  Sample lone = question("q");
  lone.group = "";
  write("in.jsonl", {lone});
  teaching.docs = Docs::kPairs;
  teaching.documentation = "THE DOCS";
  auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  const auto pair = samples_in("out.jsonl");
  ASSERT_EQ(pair.size(), 2U);
  EXPECT_EQ(pair[0].answer(), "without");
  EXPECT_EQ(pair[1].answer(), "with");
  EXPECT_EQ(pair[1].labels.other["docs"], true);
  EXPECT_EQ(pair[1].messages[0].content, "q");  // the bare question
  EXPECT_EQ(pair[0].group, pair[1].group);
  EXPECT_FALSE(pair[0].group.empty());
}

TEST_F(TeachTest, GoesOnWhereverItWasKilledAndAsksNothingTwice) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  std::vector<Sample> samples;
  for (int i = 0; i < 4; ++i) samples.push_back(question(fmt::format("q{}", i)));
  write("in.jsonl", samples);
  teaching.answers = 2;
  ScriptedServer server([](const Received& received) -> Act {
    return answer("answer to " + last_message(received) + " with seed " +
                  received.json()["seed"].dump());
  });
  ASSERT_TRUE(teach("log.jsonl", server.url()));
  const std::string whole = read("out.jsonl");
  EXPECT_EQ(samples_in("out.jsonl").size(), 8U);
  for (const std::string& cut : cuts_of("log.jsonl")) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    const int before = server.requests();
    auto report = teach("cut.jsonl", server.url());
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), whole);
    const int lines = static_cast<int>(std::count(cut.begin(), cut.end(), '\n'));
    EXPECT_EQ(server.requests() - before, 8 - std::max(lines - 1, 0));
    EXPECT_EQ(report->answered, 8U);
    EXPECT_EQ(report->prompt_tokens, 80);
  }
}

TEST_F(TeachTest, RefusedCutOffAndPairedAnswersAreTheSameAfterEveryCut) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  write("in.jsonl", {question("plain"), question("too long"), question("length")});
  teaching.docs = Docs::kPairs;
  teaching.documentation = "THE DOCS";
  ScriptedServer server([](const Received& received) -> Act {
    const std::string text = last_message(received);
    if (text == "too long") return http(400, R"({"error": {"message": "context length"}})");
    if (text == "length") return answer("so lo", "length");
    const bool docs = received.body.find("THE DOCS") != std::string::npos;
    return answer(docs ? "with" : "without");
  });
  auto first = teach("log.jsonl", server.url());
  ASSERT_TRUE(first) << first.error().message();
  const std::string whole = read("out.jsonl");
  EXPECT_EQ(samples_in("out.jsonl").size(), 2U);
  EXPECT_EQ(first->refused, 2U);
  EXPECT_EQ(first->truncated, 2U);
  for (const std::string& cut : cuts_of("log.jsonl")) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    const int before = server.requests();
    auto report = teach("cut.jsonl", server.url());
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), whole);
    const int lines = static_cast<int>(std::count(cut.begin(), cut.end(), '\n'));
    EXPECT_EQ(server.requests() - before, 6 - std::max(lines - 1, 0));
    EXPECT_EQ(report->refused, 2U);
    EXPECT_EQ(report->truncated, 2U);
    EXPECT_EQ(report->answered, 4U);
    EXPECT_EQ(report->written, 2U);
  }
}

TEST_F(TeachTest, AFullDiskLosesNoAnswer) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  teaching.concurrency = 1;  // no request is under way when the disk is full: they are counted
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i) samples.push_back(question(fmt::format("q{}", i)));
  write("in.jsonl", samples);
  ScriptedServer server(
      [](const Received& received) -> Act { return answer("re: " + last_message(received)); });
  ASSERT_TRUE(teach("log.jsonl", server.url()));
  const std::string whole = read("out.jsonl");
  std::filesystem::remove(path("out.jsonl"));
  {
    FullDisk disk(read("log.jsonl").size() / 2);
    auto report = teach("small.jsonl", server.url());
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("small.jsonl: cannot write"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
  const std::string kept = read("small.jsonl");
  const auto lines = static_cast<int>(std::count(kept.begin(), kept.end(), '\n'));
  EXPECT_GT(lines, 1);
  const int before = server.requests();
  ASSERT_TRUE(teach("small.jsonl", server.url()));
  EXPECT_EQ(server.requests() - before, 7 - lines);
  EXPECT_TRUE(read("small.jsonl").starts_with(kept));
  EXPECT_EQ(read("out.jsonl"), whole);
}

TEST_F(TeachTest, AServerThatIsGoneEndsItAndNothingIsLost) {
  using namespace openai::testing;  // NOLINT(google-build-using-namespace)
  std::vector<Sample> samples;
  for (int i = 0; i < 50; ++i) samples.push_back(question(fmt::format("q{}", i)));
  write("in.jsonl", samples);
  teaching.most_failures = 4;
  {
    ScriptedServer server([](const Received& received) -> Act {
      return received.number < 10 ? Act(answer("fine")) : Act(http(503, "{}"));
    });
    auto report = teach("log.jsonl", server.url());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
    EXPECT_THAT(report.error().message(), HasSubstr("--resume goes on"));
    EXPECT_LT(server.requests(), 50);
  }
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
  ScriptedServer server({answer("fine")});
  auto report = teach("log.jsonl", server.url());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(server.requests(), 40);
  EXPECT_EQ(report->earlier, 10U);
  EXPECT_EQ(report->written, 50U);
  ScriptedServer strict({http(401, R"({"error": {"message": "bad key"}})")});
  std::filesystem::remove(path("log.jsonl"));
  auto refused = teach("log.jsonl", strict.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_LE(strict.requests(), 4);
}

}  // namespace
}  // namespace kw::data
