// The command: what it reads, prints and writes.
#include <algorithm>

#include "testing.h"

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

}  // namespace
}  // namespace kw::front
