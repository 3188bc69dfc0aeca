// Filter and teach: what is judged and asked, and that a session goes on wherever it was cut.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "data/binomial.h"
#include "data/filter.h"
#include "data/strata.h"
#include "data/teach.h"
#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"
#include "os/file.h"
#include "task/definition_json.h"
#include "task/workload_json.h"

namespace kw::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

task::Problem double_problem() {
  task::Problem out;
  out.name = "double";
  out.body = *task::definition_from_json(
      *parse_json(R"({"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x):\n    return 2 * x\n"})"),
      "");
  out.workloads = {*task::workload_from_json(
      *parse_json(R"({"uuid": "w", "axes": {"N": 8}, "inputs": {"x": {"type": "random"}}})"), "")};
  out.hash = task::problem_hash(out);
  return out;
}

std::string code(const std::string& mark) {
  return "Plan.\n```cpp\nextern \"C\" void run(const float* x, float* y, int64_t N) {}  // " +
         mark + "\n```";
}

Sample sample_with(const std::string& mark, Kind kind = Kind::kDefinition) {
  Sample out;
  out.kind = kind;
  out.language = "cpp";
  out.problem = sample_problem(double_problem());
  out.messages = {{"user", "Double it."}, {"assistant", code(mark)}};
  out.group = mark;
  return out;
}

// Judges by the comment in the code.
class MarkEvaluator : public search::Evaluator {
 public:
  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    const std::string& text = request.candidate.entry_source()->content;
    std::string mark = text.substr(text.find("// ") + 3);
    mark = std::string(trim(mark));
    std::lock_guard lock(mutex);
    const int number = ++judged[mark];
    timed[mark] = request.options.timing;
    if (mark.starts_with("flaky") && number == 1) return fail(ErrorCode::kUnavailable, "gone");
    if (mark.starts_with("broken")) return fail(ErrorCode::kInternal, "a bug of ours");
    task::Verdict out;
    out.outcome = mark.starts_with("wrong") ? task::Outcome::kWrongValue : task::Outcome::kPassed;
    out.evidence = "/store/" + mark;
    task::WorkloadVerdict workload;
    workload.uuid = "w";
    workload.outcome = out.outcome;
    if (out.outcome != task::Outcome::kPassed)
      workload.diagnostics = {{"mismatch", "y[3] is off in " + mark}};
    out.workloads = {std::move(workload)};
    const double speedup = mark.starts_with("slow") ? 0.5 : 2;
    if (out.outcome == task::Outcome::kPassed && request.options.timing)
      out.speedup = task::Speedup{speedup, speedup * 0.9, speedup * 1.1};
    return out;
  }
  Result<task::Signature> describe(const task::Problem& problem, const std::string&) override {
    return task::signature_of(problem.definition(), problem.workloads[0]);
  }

  std::mutex mutex;
  std::map<std::string, int> judged;
  std::map<std::string, bool> timed;
};

class SessionTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& name, const std::vector<Sample>& samples) const {
    std::ofstream file(path(name));
    for (const Sample& sample : samples) file << to_line(sample) << "\n";
  }
  std::string read(const std::string& name) const { return *os::read_file(path(name)); }
  std::vector<Sample> samples_in(const std::string& name) const {
    std::vector<Sample> out;
    auto status = for_each_sample(path(name), [&](Sample sample, std::string_view) {
      out.push_back(std::move(sample));
      return Status();
    });
    EXPECT_TRUE(status) << status.error().message();
    return out;
  }
  std::vector<std::string> groups_in(const std::string& name) const {
    std::vector<std::string> out;
    for (const Sample& sample : samples_in(name)) out.push_back(sample.group);
    return out;
  }

  Result<FilterReport> filter(const std::string& log, const std::string& to = "out.jsonl") {
    auto out = OutputFile::create(path(to), true);
    auto rejected = OutputFile::create(path("rejected.jsonl"), true);
    auto report = filter_dataset(path("in.jsonl"), path(log), *out, &*rejected, settings, evaluator,
                                 {}, stop.get_token());
    if (report) {
      EXPECT_TRUE(out->close() && rejected->close());
    }
    return report;
  }

  // Every length at which a kill may leave the log: behind each line, and in the middle of one.
  std::vector<std::string> cuts_of(const std::string& log) const {
    const std::string whole = read(log);
    std::vector<std::string> out = {""};
    for (std::size_t end = whole.find('\n'); end != std::string::npos;
         end = whole.find('\n', end + 1)) {
      out.push_back(whole.substr(0, end - 5));
      out.push_back(whole.substr(0, end + 1));
    }
    return out;
  }

  os::TempDir folder = std::move(*os::TempDir::make("kw_data_test"));
  FilterSettings settings = [] {
    FilterSettings out;
    out.eval.timing = false;
    out.jobs = 2;
    out.retry_seconds = 0;
    return out;
  }();
  MarkEvaluator evaluator;
  std::stop_source stop;
};

TEST_F(SessionTest, FilterKeepsWhatPassesWithItsVerdict) {
  Sample chat;
  chat.messages = {{"user", "Hi"}, {"assistant", "Hello"}};
  chat.group = "chat";
  Sample no_code = sample_with("none");
  no_code.messages[1].content = "I cannot.";
  Sample echo = sample_with("right echo");
  echo.messages[0].content = echo.messages[1].content;
  Sample bad = sample_with("right bad");
  bad.problem->source += " ";
  bad.problem->hash = "0";
  write("in.jsonl", {sample_with("right 1"), sample_with("wrong 1"), chat, no_code,
                     sample_with("flaky"), bad, sample_with("right 1")});
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1", "chat", "flaky", "right 1"));
  EXPECT_EQ(evaluator.judged["right 1"], 1);
  EXPECT_EQ(report->retries, 1U);
  EXPECT_EQ(report->not_judged, 1U);
  EXPECT_EQ(Json(report->outcomes).dump(),
            R"({"bad_problem":1,"no_code":1,"passed":2,"wrong_value":1})");
  const Sample first = samples_in("out.jsonl")[0];
  EXPECT_EQ(first.verdict["outcome"], "passed");
  EXPECT_EQ(first.verdict["evidence"], "right 1");
  EXPECT_THAT(read("rejected.jsonl"), HasSubstr("y[3] is off in wrong 1"));
}

TEST_F(SessionTest, PendingSamplesGetTheQuestionFromTheirFirstAnswersVerdict) {
  const auto pending = [](const std::string& mark, const std::string& previous, Kind kind) {
    Sample out = sample_with(mark, kind);
    out.pending = Pending{code(previous), "zero_shot"};
    return out;
  };
  write("in.jsonl", {pending("right r", "wrong r", Kind::kRepair),
                     pending("right s", "right before", Kind::kRepair),
                     pending("right t", "slow t", Kind::kSpeedup),
                     pending("right u", "right v", Kind::kSpeedup),
                     pending("right w", "wrong w", Kind::kSpeedup)});
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(Json(report->outcomes).dump(),
            R"({"not_faster":1,"not_right":1,"not_wrong":1,"passed":2})");
  const auto kept = samples_in("out.jsonl");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_FALSE(kept[0].pending);
  ASSERT_EQ(kept[0].messages.size(), 2U);
  EXPECT_THAT(kept[0].messages[0].content, HasSubstr("y[3] is off in wrong r"));
  EXPECT_THAT(kept[0].messages[0].content, HasSubstr("// wrong r"));
  EXPECT_EQ(kept[0].answer(), code("right r"));
  EXPECT_FALSE(evaluator.timed["right r"]);
  EXPECT_TRUE(evaluator.timed["slow t"]);
  EXPECT_EQ(kept[1].verdict["speedup"]["median"], 2);
}

TEST_F(SessionTest, FilterGoesOnWhereverItWasKilled) {
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i)
    samples.push_back(sample_with(fmt::format("{} {}", i % 3 == 0 ? "wrong" : "right", i)));
  write("in.jsonl", samples);
  ASSERT_TRUE(filter("log.jsonl", "whole.jsonl"));
  const auto cuts = cuts_of("log.jsonl");
  ASSERT_EQ(cuts.size(), 15U);
  for (const std::string& cut : cuts) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    evaluator.judged.clear();
    auto report = filter("cut.jsonl");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), read("whole.jsonl"));
    const auto lines = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n'));
    const std::size_t logged = lines > 0 ? lines - 1 : 0;
    EXPECT_EQ(evaluator.judged.size(), 6 - logged);
    EXPECT_EQ(report->earlier, logged);
    EXPECT_EQ(report->outcomes["passed"], 4U);
  }
  settings.eval.threads = 2;
  auto other = filter("log.jsonl");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("log.jsonl:1: written with other settings"));
}

TEST_F(SessionTest, OurFailuresAreNoFindings) {
  write("in.jsonl", {sample_with("right 1"), sample_with("broken")});
  auto report = filter("log.jsonl");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(report.error().message(), HasSubstr("1 samples could not be judged"));
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
  EXPECT_EQ(evaluator.judged["broken"], 1);  // no retry can help
  settings.skip_failed = true;
  report = filter("log.jsonl");
  ASSERT_TRUE(report);
  EXPECT_EQ(evaluator.judged["right 1"], 1);
  EXPECT_EQ(report->failed, 1U);
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1"));
  stop.request_stop();
  report = filter("other.jsonl");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kCancelled);
}

TEST_F(SessionTest, AFailingCellIsDroppedAndTheOthersAreSampled) {
  std::vector<Sample> samples;
  for (int i = 0; i < 400; ++i) {
    const bool bad = i % 4 == 0;  // softmax in strategy "split" is wrong
    Sample sample = sample_with(fmt::format("{} {}", bad ? "wrong" : "right", i));
    sample.labels.operators = {bad || i % 4 == 1 ? "softmax" : "add", "mul"};
    sample.labels.strategy = bad ? "split" : "row";
    sample.origin = {{"generator", "writer"}, {"index", i}};
    samples.push_back(std::move(sample));
  }
  for (int i = 0; i < 400; i += 4)
    samples[static_cast<std::size_t>(i) + 2].labels.strategy = "split";
  write("in.jsonl", samples);
  settings.per_cell = 30;
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(report->failing_cells, ElementsAre("softmax | split | cpp"));
  EXPECT_EQ(report->cells, 6U);
  EXPECT_EQ(report->small_cells, 0U);
  EXPECT_LT(evaluator.judged.size(), 400U);
  EXPECT_GE(report->sampled, 4U * 30U);
  EXPECT_EQ(report->kept, 300U);
  EXPECT_EQ(report->dropped + report->sampled_failures, 100U);
  for (const Sample& sample : samples_in("out.jsonl"))
    EXPECT_FALSE(sample.labels.strategy == "split" && sample.labels.operators[0] == "softmax");
  CellFindings findings;
  for (const Sample& sample : samples) findings.add(sample, sample.group.starts_with("right"));
  EXPECT_THAT(findings.failing(), ElementsAre("softmax | split | cpp"));
}

TEST(Binomial, ClopperPearsonVectors) {
  // Closed forms: k = 0: 1 - 0.05^(1/n); k = n - 1: 0.95^(1/n). The rest by R's binom.test.
  EXPECT_NEAR(clopper_pearson_upper(0, 30), 1 - std::pow(0.05, 1.0 / 30), 1e-9);
  EXPECT_NEAR(clopper_pearson_upper(0, 600), 0.0049804, 1e-6);
  EXPECT_NEAR(clopper_pearson_upper(9, 10), std::pow(0.95, 0.1), 1e-9);
  EXPECT_EQ(clopper_pearson_upper(5, 5), 1);
  EXPECT_EQ(clopper_pearson_upper(0, 0), 1);
  EXPECT_GT(clopper_pearson_upper(3, 100000), 3e-5);
  EXPECT_LT(clopper_pearson_upper(3, 100000), 8e-5);
}

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
