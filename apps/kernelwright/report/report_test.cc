// The command: what it reads, prints and writes.
#include <algorithm>
#include <array>

#include "kernelwright/testing/fakes.h"
#include "openai/chat.h"

namespace kw::front {
namespace {

class ReportTest : public FrontTest {
 protected:
  // Judges candidates for `double` by the fake gym into the file NAME.
  void judge(const std::string& name, const std::map<std::string, task::Outcome>& candidates) {
    gym.outcomes = candidates;
    std::string solutions;
    for (const auto& [candidate, outcome] : candidates) {
      Json solution = {
          {"name", candidate},
          {"definition", "double"},
          {"author", "test"},
          {"spec",
           {{"language", "cpp"}, {"target_hardware", {"CPU"}}, {"entry_point", "k.cpp::run"}}},
          {"sources", {{{"path", "k.cpp"}, {"content", "// " + candidate}}}}};
      solutions += solution.dump() + "\n";
    }
    ASSERT_EQ(kernelwright({"eval", "--dataset", path("problems"), "--solutions",
                            write(name + ".solutions.jsonl", solutions), "--out", path(name)}),
              0)
        << console.err_text;
    console.out_text.clear();
    console.err_text.clear();
  }
  Json report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    arguments.emplace_back("--json");
    console.out_text.clear();
    EXPECT_EQ(kernelwright(arguments), 0) << console.out_text << console.err_text;
    auto json = parse_json(console.out_text);
    return json ? *json : Json();
  }
};

TEST_F(ReportTest, WhatEvalWrote) {
  judge("o.jsonl", {{"good", task::Outcome::kPassed}, {"bad", task::Outcome::kWrongValue}});
  Json json = report({path("o.jsonl")});
  const Json& metrics = json["runs"][0]["metrics"];
  EXPECT_EQ(metrics["problems"], 1);
  EXPECT_EQ(metrics["attempts"]["total"], 2);
  EXPECT_EQ(metrics["correctness"]["value"], 1.0);
  EXPECT_EQ(json["runs"][0]["problems"][0]["best"]["speedup"]["median"], 2.0);
  EXPECT_EQ(json["runs"][0]["name"], "o");
}

TEST_F(ReportTest, TheDataSetSaysWhatWasAsked) {
  judge("o.jsonl", {{"good", task::Outcome::kPassed}});
  Json json = report({path("o.jsonl"), "--dataset", path("problems")});
  EXPECT_EQ(json["runs"][0]["metrics"]["problems"], 2);
  EXPECT_EQ(json["runs"][0]["metrics"]["unattempted"], 1);
  EXPECT_EQ(json["runs"][0]["metrics"]["correctness"]["value"], 0.5);
}

TEST_F(ReportTest, TheBaselineIsARunOrIsAdded) {
  judge("a.jsonl", {{"good", task::Outcome::kPassed}});
  judge("b.jsonl", {{"bad", task::Outcome::kWrongValue}});
  Json second = report({path("a.jsonl"), path("b.jsonl"), "--baseline", path("./b.jsonl")});
  ASSERT_EQ(second["runs"].size(), 2U);
  EXPECT_EQ(second["comparisons"][0]["run"], "a");
  EXPECT_EQ(second["comparisons"][0]["baseline"], "b");
  Json added = report({path("a.jsonl"), "--baseline", path("b.jsonl")});
  EXPECT_EQ(added["comparisons"], second["comparisons"]);
  Json first = report({path("a.jsonl"), path("b.jsonl")});
  EXPECT_EQ(first["comparisons"][0]["baseline"], "a");
  EXPECT_TRUE(first["comparisons"][0]["measures"][0]["winner"].is_null());
}

TEST_F(ReportTest, ThePage) {
  judge("o.jsonl", {{"good", task::Outcome::kPassed}});
  ASSERT_EQ(kernelwright({"report", path("o.jsonl"), "--html", path("r.html")}), 0);
  EXPECT_TRUE(read("r.html").starts_with("<!doctype html>"));
  EXPECT_TRUE(read("r.html").ends_with("</html>\n"));
  EXPECT_NE(console.out_text.find("correct      100.0 %"), std::string::npos) << console.out_text;
  EXPECT_NE(console.err_text.find("r.html"), std::string::npos);
}

TEST_F(ReportTest, Mistakes) {
  auto expect_error = [&](const std::vector<std::string>& arguments, const std::string& words) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright(arguments), 2);
    EXPECT_NE(console.err_text.find(words), std::string::npos) << console.err_text;
  };
  expect_error({"report"}, "no RUN given");
  expect_error({"report", "none.jsonl"}, "none.jsonl: no such file");
  write("broken.jsonl", "{\"verdict\": 1}\n");
  expect_error({"report", "broken.jsonl"}, "broken.jsonl:1: verdict");
  judge("o.jsonl", {{"good", task::Outcome::kPassed}});
  expect_error({"report", path("o.jsonl"), "--dataset", "nowhere"}, "nowhere");
  expect_error({"report", path("o.jsonl"), "--html", "no/such/folder.html"}, "no/such/folder.html");
}

TEST_F(ReportTest, ChosenFastP) {
  judge("o.jsonl", {{"good", task::Outcome::kPassed}});
  Json rows = report({path("o.jsonl"), "--fast-p", "3,1.2"})["runs"][0]["metrics"]["fast_p"];
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i]["p"], (std::array{1.0, 1.2, 3.0}.at(i)));
  EXPECT_EQ(rows[1]["median"]["value"], 1.0);
  EXPECT_EQ(rows[2]["median"]["value"], 0.0);
  Json usual = report({path("o.jsonl")})["runs"][0]["metrics"]["fast_p"];
  EXPECT_EQ(usual[3]["p"], 1.2);
  for (const char* bad : {"1,", "1,x", "0", "-1", "nan", "inf", "1;2"}) {
    console.err_text.clear();
    EXPECT_EQ(kernelwright({"report", path("o.jsonl"), "--fast-p", bad}), 2) << bad;
    EXPECT_NE(console.err_text.find("--fast-p"), std::string::npos) << bad;
  }
}

TEST_F(ReportTest, RunsOverOtherBaselinesWarn) {
  judge("a.jsonl", {{"good", task::Outcome::kPassed}});
  judge("b.jsonl", {{"good", task::Outcome::kPassed}});
  EXPECT_EQ(report({path("a.jsonl"), path("b.jsonl")})["comparisons"][0]["warnings"].size(), 0U);
  std::string verdicts = read("b.jsonl.verdicts.jsonl");
  const std::string from = "\"baseline\":\"eager\"", to = "\"baseline\":\"compile\"";
  ASSERT_NE(verdicts.find(from), std::string::npos);
  write("b.jsonl.verdicts.jsonl", verdicts.replace(verdicts.rfind(from), from.size(), to));
  Json warnings = report({path("a.jsonl"), path("b.jsonl")})["comparisons"][0]["warnings"];
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].get<std::string>().find("compile and eager"), std::string::npos);
}

// The report takes these labels for what they are, whatever openai comes to call them.
TEST_F(ReportTest, SuspiciousAnswersAreIndependentSamples) {
  using openai::Suspicion;
  for (Suspicion suspicion :
       {Suspicion::kEmpty, Suspicion::kPromptEcho, Suspicion::kTemplateTokens}) {
    const std::string name(openai::to_string(suspicion));
    write("answers.jsonl", Json{{"problem", "double"},
                                {"attempt", 0},
                                {"answer", "Which kernel?"},
                                {"by", "m"},
                                {"suspicion", name}}
                                   .dump() +
                               "\n");
    kernelwright({"solve", path("problems/double"), "--answers", path("answers.jsonl"), "--samples",
                  "1", "--run", path("run-" + name)});
    Json run = report({path("run-" + name)})["runs"][0];
    EXPECT_EQ(run["independent"], true) << name;
    EXPECT_EQ(run["metrics"]["pass_at_k"].size(), 1U) << name;
    const std::string reason = run["metrics"]["failures"][0]["reason"];
    EXPECT_TRUE(reason.starts_with("no_code: ") && reason.ends_with("(" + name + ")")) << reason;
  }
}

}  // namespace
}  // namespace kw::front
