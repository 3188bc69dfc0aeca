// Teach: what is asked, and that it goes on wherever it was cut.
#include "data/teach.h"

#include <algorithm>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/session_fixture.h"
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
  out.problem = sample_problem(double_problem());
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
    auto made = openai::ChatClient::make(std::move(client));
    auto out = OutputFile::create(path("out.jsonl"), true);
    auto report =
        teach_dataset(path("in.jsonl"), path(log), *out, teaching, *made, {}, stop.get_token());
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
  openai::testing::FakeClock clock;
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
