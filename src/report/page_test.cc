// The page: nothing that a run contains becomes markup, sizes are bounded, nothing is loaded.
#include <cctype>

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/html.h"
#include "report/report.h"
#include "report/testing/runs.h"

namespace kw::report {
namespace {

constexpr const char* kHostile =
    "</script></pre></title></style>--><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"
    "&lt;\xE2\x80\xAE\x1b[31m\xff";

// Every text of a run is hostile.
report::Run hostile_run() {
  Attempt bad = failed();
  bad.id = bad.outcome = bad.violation = bad.proposer = bad.language = kHostile;
  bad.diagnostics = {{kHostile, kHostile}};
  bad.code = excerpt(kHostile, 1000);
  Attempt silent = failed(task::Progress::kNothing, kHostile);
  silent.answer = excerpt(kHostile, 1000);
  silent.why_no_code = kHostile;
  silent.parent = kHostile;
  report::Run run = run_of(kHostile, {problem(kHostile, {bad, silent, correct(2, 1.9, 2.1)})});
  run.problems[0].attempts[0].id = kHostile;
  run.problems[0].failure = run.path = run.kind = run.settings = run.hardware = run.target =
      run.baseline = kHostile;
  run.notes = {kHostile};
  return run;
}

// Each start tag without what stands in quotes: "meta name= content=".
std::vector<std::string> tags(const std::string& html) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < html.size(); ++i) {
    if (html[i] != '<' || std::isalpha(static_cast<unsigned char>(html[i + 1])) == 0) continue;
    std::string tag;
    bool quoted = false;
    for (++i; i < html.size() && (quoted || html[i] != '>'); ++i) {
      if (html[i] == '"')
        quoted = !quoted;
      else if (!quoted)
        tag += html[i];
    }
    out.push_back(tag);
  }
  return out;
}

TEST(Page, HostileTextIsText) {
  report::Run other = hostile_run();
  other.baseline += "2";  // the warning has both
  std::string html = to_html(make_report({hostile_run(), other}, 0, {}));
  for (const char* bad : {"<img", "<script", "onerror=alert(1)>", "<svg/", "</script",
                          "\xE2\x80\xAE", "\x1b", "--><"})
    EXPECT_EQ(html.find(bad), std::string::npos) << bad;
  EXPECT_NE(html.find("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;"), std::string::npos);
  EXPECT_NE(html.find("&amp;lt;"), std::string::npos);
  for (const std::string& tag : tags(html)) {
    EXPECT_EQ(tag.find(" on"), std::string::npos) << tag;
    EXPECT_EQ(tag.find(" src"), std::string::npos) << tag;
  }
  // The style sheet and the head end where they should, once.
  for (const char* once : {"</style>", "</title>\n<style>", "</head>", "</html>"})
    EXPECT_EQ(html.find(once), html.rfind(once)) << once;
  EXPECT_TRUE(is_valid_utf8(html));
}

// As many elements with a hostile text as with a tame one of its kind.
TEST(Page, HostileTextAddsNoElement) {
  report::Run tame = hostile_run();
  auto clean = [](std::string& text) { text = text.empty() ? "" : "x"; };
  for (std::string* text :
       {&tame.name, &tame.path, &tame.kind, &tame.settings, &tame.hardware, &tame.target,
        &tame.baseline, &tame.notes[0], &tame.problems[0].name, &tame.problems[0].failure})
    clean(*text);
  for (Attempt& attempt : tame.problems[0].attempts) {
    for (std::string* text :
         {&attempt.id, &attempt.parent, &attempt.violation, &attempt.proposer, &attempt.language,
          &attempt.code.text, &attempt.answer.text, &attempt.why_no_code})
      clean(*text);
    if (!attempt.diagnostics.empty()) attempt.diagnostics[0] = {"x", "x"};
  }
  tame.problems[0].attempts[2].id = "2";
  EXPECT_EQ(tags(to_html(make_report({hostile_run()}, 0, {}))).size(),
            tags(to_html(make_report({tame}, 0, {}))).size());
}

TEST(Page, LoadsNothing) {
  std::string html = to_html(make_report({hostile_run()}, 0, {}));
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* word : {"http://", "https://", "url(", "@import", "<link", "src=\""})
    EXPECT_EQ(html.find(word), std::string::npos) << word;
}

TEST(Page, SizesAreBoundedAndSaidSo) {
  Attempt large = failed();
  large.code = excerpt(std::string(40000, 'x'), 16384);
  large.diagnostics.assign(20, {"compiler", std::string(10000, 'y')});
  std::vector<ProblemRecord> problems;
  for (int i = 0; i < 300; ++i)
    problems.push_back(problem("p" + std::to_string(i), {large, correct(2, 1.9, 2.1)}));
  problems.back().attempts[1].code = excerpt("the best code", 100);
  std::string html = to_html(make_report({run_of("r", problems)}, 0, {0, 100, 0.95}));
  EXPECT_LT(html.size(), 10U << 20U);
  EXPECT_NE(html.find("23.1 KiB more left out"), std::string::npos);
  EXPECT_NE(html.find("12 more diagnostics are left out"), std::string::npos);
  EXPECT_NE(html.find("the page has its 6.0 MiB already"), std::string::npos);
  EXPECT_NE(html.find("the best code"), std::string::npos) << "the best has room of its own";
}

TEST(Page, ManyProblemsAndAttempts) {
  report::Run run = run_of("r", {});
  for (int i = 0; i < 2100; ++i)
    run.problems.push_back(problem("p" + std::to_string(i), {failed()}));
  run.problems[0].attempts.assign(1000, failed());
  std::string html = to_html(make_report({run}, 0, {0, 20, 0.95}));
  EXPECT_NE(html.find("100 more problems are left out"), std::string::npos);
  EXPECT_NE(html.find("600 more attempts are left out"), std::string::npos);
  EXPECT_LT(html.size(), 4U << 20U);
}

TEST(Page, TreeInOrderOfParents) {
  report::Run run =
      run_of("r", {problem("p", {failed(), failed(), correct(1, 1, 1), correct(3, 2, 4)})});
  run.problems[0].attempts[2].parent = "0";
  run.problems[0].attempts[3].parent = "2";
  std::string html = to_html(make_report({run}, 0, {}));
  auto at = [&](const char* text) { return html.find(text, html.find("class=\"tree\"")); };
  EXPECT_LT(at("#0 "), at("#2 "));
  EXPECT_LT(at("#2 "), at("#3 "));
  EXPECT_LT(at("#3 "), at("#1 "));
  EXPECT_NE(html.find("<li class=\"d2 best\">"), std::string::npos);
}

// A chain of 5000 neither exhausts the stack nor leaves the screen.
TEST(Page, DeepTrees) {
  std::vector<Attempt> chain(5000, failed());
  report::Run run = run_of("r", {problem("p", chain)});
  for (std::size_t i = 1; i < 5000; ++i) run.problems[0].attempts[i].parent = std::to_string(i - 1);
  std::string html = to_html(make_report({run}, 0, {0, 20, 0.95}));
  EXPECT_NE(html.find("class=\"d4\""), std::string::npos);
  EXPECT_EQ(html.find("class=\"d5\""), std::string::npos);
}

TEST(Page, AnAttemptThatIsItsOwnParent) {
  report::Run run = run_of("r", {problem("p", {failed(), failed(), failed()})});
  for (Attempt& attempt : run.problems[0].attempts) attempt.id = attempt.parent = "x";
  std::string html = to_html(make_report({run}, 0, {0, 20, 0.95}));
  EXPECT_NE(html.find("class=\"d2\""), std::string::npos);
}

TEST(Page, ARunWithoutAnyAttempt) {
  Report report = make_report({run_of("r", {problem("p", {})})}, 0, {});
  EXPECT_NE(to_html(report).find("No attempt"), std::string::npos);
  EXPECT_NE(to_text(report).find("1, 1 without an attempt"), std::string::npos);
}

// Why nothing is correct, in each of the three forms.
TEST(Page, NothingCorrect) {
  Attempt silent = failed(task::Progress::kNothing, "no_code");
  silent.why_no_code = "the code block is empty";
  report::Run run = run_of("r", {problem("p", {silent, silent, failed()}), problem("q", {})});
  run.problems[1].failure = "unsupported: no cuda here";
  for (int i = 0; i < 20; ++i)
    run.problems[0].attempts.push_back(failed(task::Progress::kRan, fmt::format("o{}", i)));
  Report report = make_report({run}, 0, {0, 20, 0.95});
  std::string text = to_text(report), html = to_html(report);
  EXPECT_NE(text.find("failures         2  no_code: the code block is empty\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("14 more reasons, in --json"), std::string::npos) << text;
  EXPECT_NE(text.find("given up         1  unsupported: no cuda here\n"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\">no_code: the code block is empty</th><td>2 (8.7 %)</td>"),
            std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\">unsupported: no cuda here</th><td>1 (50.0 %)</td>"),
            std::string::npos);
  Json metrics = to_json(report)["runs"][0]["metrics"];
  EXPECT_EQ(metrics["failures"].size(), 22U);
  EXPECT_EQ(metrics["failures"][0],
            (Json{{"reason", "no_code: the code block is empty"}, {"count", 2}}));
  EXPECT_EQ(metrics["given_up"][0], (Json{{"reason", "unsupported: no cuda here"}, {"count", 1}}));
}

TEST(Page, CodeOfTheBestIsInJson) {
  Attempt best = correct(2, 1.9, 2.1);
  best.language = "cpp";
  best.code = excerpt("int x;", 5);
  Json json = to_json(make_report({run_of("r", {problem("p", {best})})}, 0, {0, 20, 0.95}));
  const Json& found = json["runs"][0]["problems"][0]["best"];
  EXPECT_EQ(found["language"], "cpp");
  EXPECT_EQ(found["code"], "int x");
  EXPECT_EQ(found["code_left_out"], 1);
}

TEST(Html, Escapes) {
  EXPECT_EQ(escape("a<b>&\"'\r\nc\td\r"), "a&lt;b&gt;&amp;&quot;&#39;\nc\td?");
  EXPECT_EQ(bounded("\xC3\xA9\xC3\xA9", 3), "\xC3\xA9\n[2 B more left out]");
}

}  // namespace
}  // namespace kw::report
