// Vectors worked out by hand.
#include "report/metrics.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "report/report.h"
#include "report/testing/runs.h"

namespace kw::report {
namespace {

double slow_pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  auto choose = [](std::int64_t a, std::int64_t b) {
    long double out = 1;
    for (std::int64_t i = 0; i < b; ++i)
      out *= static_cast<long double>(a - i) / static_cast<long double>(i + 1);
    return a < b ? 0 : out;
  };
  return static_cast<double>(1 - choose(n - c, k) / choose(n, k));
}

TEST(PassAtK, ByHand) {
  EXPECT_DOUBLE_EQ(pass_at_k(10, 0, 5), 0);
  EXPECT_DOUBLE_EQ(pass_at_k(10, 10, 1), 1);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 2), 0.5);         // 1 - C(3,2)/C(4,2) = 1 - 3/6
  EXPECT_DOUBLE_EQ(pass_at_k(5, 2, 2), 0.7);         // 1 - C(3,2)/C(5,2) = 1 - 3/10
  EXPECT_DOUBLE_EQ(pass_at_k(10, 3, 5), 11.0 / 12);  // 1 - C(7,5)/C(10,5) = 1 - 21/252
  EXPECT_DOUBLE_EQ(pass_at_k(8, 7, 2), 1);           // one failure only: two cannot both fail
  EXPECT_NEAR(pass_at_k(200, 1, 100), 0.5, 1e-12);
  EXPECT_NEAR(pass_at_k(100000, 1, 1), 1e-5, 1e-16);  // nothing over- or underflows
  EXPECT_NEAR(pass_at_k(100000, 3, 50000), 0.87500375, 1e-7);
}

TEST(PassAtK, MissingSamplesAreFailures) {
  EXPECT_EQ(pass_at_k(0, 0, 1), 0);
  EXPECT_EQ(pass_at_k(0, 0, 8), 0);
  EXPECT_EQ(pass_at_k(2, 1, 8), 1);
  EXPECT_EQ(pass_at_k(2, 0, 8), 0);
}

TEST(PassAtK, AsTheBinomialsSay) {
  for (std::int64_t n = 1; n <= 20; ++n) {
    for (std::int64_t c = 0; c <= n; ++c) {
      for (std::int64_t k = 1; k <= n; ++k)
        EXPECT_NEAR(pass_at_k(n, c, k), slow_pass_at_k(n, c, k), 1e-12)
            << n << " " << c << " " << k;
    }
  }
}

// Five problems: 2x (sure), 1.1x (not sure), 0.9x, never correct, never tried.
report::Run sample() {
  return run_of("sample",
                {
                    problem("a", {failed(), correct(1.2, 1.1, 1.3), correct(2, 1.9, 2.1)}),
                    problem("b", {correct(1.1, 0.95, 1.25), failed()}),
                    problem("c", {untimed(), correct(0.9, 0.85, 0.95)}),
                    problem("d", {failed(task::Progress::kRightShape, "wrong_value")}),
                    problem("e", {}),
                });
}

TEST(Metrics, NIsAllProblemsAsked) {
  Metrics m = measure(sample(), {});
  EXPECT_EQ(m.problems, 5);
  EXPECT_EQ(m.unattempted, 1);
  EXPECT_EQ(m.attempts, 8);
  EXPECT_EQ(m.fewest_attempts, 0);
  EXPECT_EQ(m.most_attempts, 3);
  EXPECT_DOUBLE_EQ(m.correctness.value, 0.6);
}

TEST(Metrics, FastPByHand) {
  Metrics m = measure(sample(), {});
  std::vector<double> median, low;
  for (const FastP& row : m.fast_p) {
    median.push_back(row.median.value);
    low.push_back(row.low.value);
  }
  // p:                                    0.5  0.8  1    1.2  1.5  2  3  5
  EXPECT_EQ(median, (std::vector<double>{0.6, 0.6, 0.4, 0.2, 0.2, 0, 0, 0})) << "2x is not over 2";
  EXPECT_EQ(low, (std::vector<double>{0.6, 0.6, 0.2, 0.2, 0.2, 0, 0, 0}));
}

TEST(Metrics, FastPOfChosenP) {
  Report report = make_report({sample()}, 0, {}, std::array{1.05, 0.9, 1.05});
  EXPECT_EQ(report.fast_p, (std::vector<double>{0.9, 1, 1.05}));
  const std::vector<FastP>& rows = report.runs[0].metrics.fast_p;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].p, 0.9);
  EXPECT_EQ(rows[0].median.value, 0.4) << "0.9x is not over 0.9";
  EXPECT_EQ(rows[2].p, 1.05);
  EXPECT_EQ(rows[2].median.value, 0.4);
  EXPECT_EQ(rows[2].low.value, 0.2);
  std::string html = to_html(report), text = to_text(report);
  EXPECT_NE(html.find("fast_1.05, surely"), std::string::npos);
  EXPECT_EQ(html.find("fast_1.5"), std::string::npos);
  EXPECT_NE(text.find("fast_1.05"), std::string::npos);
}

TEST(Metrics, WithoutAnIntervalNothingIsSure) {
  Attempt attempt = correct(3, 0, 0);
  attempt.speedup->low.reset();
  attempt.speedup->high.reset();
  Metrics m = measure(run_of("r", {problem("a", {attempt})}), {});
  EXPECT_EQ(m.fast_p[2].median.value, 1);
  EXPECT_EQ(m.fast_p[2].low.value, 0);
}

TEST(Metrics, GeometricMeans) {
  Metrics m = measure(sample(), {});
  EXPECT_EQ(m.geometric_mean.timed, 3);
  EXPECT_NEAR(m.geometric_mean.correct->value, std::cbrt(2 * 1.1 * 0.9), 1e-12);
  EXPECT_NEAR(m.geometric_mean.with_failures.value, std::pow(2 * 1.1 * 0.9, 0.2), 1e-12);
  Metrics none = measure(run_of("r", {problem("a", {failed()}), problem("b", {untimed()})}), {});
  EXPECT_FALSE(none.geometric_mean.correct);
  EXPECT_EQ(none.geometric_mean.with_failures.value, 1);
  EXPECT_FALSE(none.geometric_mean.with_failures.interval);
}

TEST(Metrics, PassAtKIsTheMeanOverProblems) {
  Metrics m = measure(sample(), {});
  ASSERT_EQ(m.pass_at_k.size(), 3U);  // 1, 2, 3
  // a: 3 attempts, 2 correct; b: 2, 1; c: 2, 2; d: 1, 0; e: none.
  EXPECT_NEAR(m.pass_at_k[0].value.value, (2.0 / 3 + 0.5 + 1 + 0 + 0) / 5, 1e-12);
  EXPECT_NEAR(m.pass_at_k[1].value.value, (1 + 1 + 1 + 0 + 0) / 5.0, 1e-12);
  EXPECT_EQ(m.pass_at_k[0].short_problems, 1);
  EXPECT_EQ(m.pass_at_k[2].k, 3);
  EXPECT_EQ(m.pass_at_k[2].short_problems, 4);
  report::Run dependent = sample();
  dependent.independent = false;
  EXPECT_TRUE(measure(dependent, {}).pass_at_k.empty());
}

TEST(Metrics, BestSoFar) {
  Metrics m = measure(sample(), {});
  ASSERT_EQ(m.best_so_far.size(), 3U);
  EXPECT_EQ(m.best_so_far[0].solved, 2);  // b, c
  EXPECT_EQ(m.best_so_far[0].faster, 1);  // b
  EXPECT_NEAR(m.best_so_far[0].geometric_mean, std::pow(1.1, 0.2), 1e-12);
  EXPECT_EQ(m.best_so_far[1].solved, 3);
  EXPECT_EQ(m.best_so_far[1].faster, 2);
  EXPECT_NEAR(m.best_so_far[1].geometric_mean, std::pow(1.1 * 1.2 * 0.9, 0.2), 1e-12);
  EXPECT_NEAR(m.best_so_far[2].geometric_mean, m.geometric_mean.with_failures.value, 1e-12);
}

TEST(Metrics, OutcomesAndStages) {
  Metrics m = measure(sample(), {});
  EXPECT_EQ(m.outcomes[0], (std::pair<std::string, std::int64_t>("passed", 5)));
  EXPECT_EQ(m.outcomes[1], (std::pair<std::string, std::int64_t>("compile_error", 2)));
  EXPECT_EQ(m.reached, (std::array<std::int64_t, task::kProgresses>{0, 2, 0, 0, 1, 5}));
}

TEST(Metrics, FailuresByReason) {
  Attempt cheat = failed(task::Progress::kRan, "violation");
  cheat.violation = "input_write";
  Attempt silent = failed(task::Progress::kNothing, "no_code");
  silent.why_no_code = "the code block is empty";
  Attempt cut = failed(task::Progress::kNothing, "cut_answer");
  report::Run run = run_of("r", {problem("a", {silent, cheat, silent, cut, correct(1, 1, 1)}),
                                 problem("b", {}), problem("c", {})});
  run.problems[1].failure = run.problems[2].failure = "quarantined: zeros pass";
  Metrics m = measure(run, {});
  EXPECT_EQ(m.failures, (Counts{{"no_code: the code block is empty", 2},
                                {"cut_answer", 1},
                                {"violation: input_write", 1}}));
  EXPECT_EQ(m.given_up, (Counts{{"quarantined: zeros pass", 2}}));
}

TEST(Metrics, FastPOfTheCorrectOnes) {
  Metrics m = measure(sample(), {});
  EXPECT_NEAR(m.fast_p[2].of_correct->value, 2.0 / 3, 1e-12);  // a and b of a, b and c
  EXPECT_NEAR(m.fast_p[4].of_correct->value, 1.0 / 3, 1e-12);
  EXPECT_FALSE(measure(run_of("r", {problem("a", {failed()})}), {}).fast_p[0].of_correct);
}

TEST(Metrics, QuartilesOfSpeedups) {
  Metrics m = measure(sample(), {});  // 0.9, 1.1, 2
  EXPECT_DOUBLE_EQ(m.speedup_quartiles->first, 1.0);
  EXPECT_DOUBLE_EQ(m.speedup_quartiles->median, 1.1);
  EXPECT_DOUBLE_EQ(m.speedup_quartiles->third, 1.55);
  EXPECT_FALSE(measure(run_of("r", {problem("a", {untimed()})}), {}).speedup_quartiles);
}

TEST(Metrics, TheLastAttemptAndWhatBecameOfParents) {
  EXPECT_FALSE(measure(sample(), {}).last_attempt);
  EXPECT_FALSE(measure(sample(), {}).refinement);
  report::Run run = sample();
  const auto parent = [&](std::size_t p, std::size_t attempt, const char* id) {
    run.problems[p].attempts[attempt].parent = id;
  };
  parent(0, 1, "0");        // correct from one that did not compile
  parent(0, 2, "1");        // 2x from 1.2x
  parent(1, 1, "0");        // does not compile any more
  parent(2, 1, "0");        // correct, and one of the two has no time
  parent(3, 0, "missing");  // no pair
  Metrics m = measure(run, {});
  EXPECT_EQ(m.refinement->improved, 2);
  EXPECT_EQ(m.refinement->regressed, 1);
  EXPECT_EQ(m.refinement->unchanged, 1);
  EXPECT_DOUBLE_EQ(m.last_attempt->correctness.value, 0.4);       // a and c of five
  EXPECT_DOUBLE_EQ(m.last_attempt->fast_p[2].second.value, 0.2);  // over 1: a
  const Report report = make_report({run}, 0, {0, 20, 0.95});
  EXPECT_NE(
      to_text(report).find("of 4 attempts made from another, 2 improved on it, 1 fell behind"),
      std::string::npos);
  EXPECT_NE(to_html(report).find("last attempt fast_1"), std::string::npos);
  const Json json = to_json(report)["runs"][0]["metrics"];
  EXPECT_EQ(json["refinement"]["improved"], 2);
  EXPECT_EQ(json["last_attempt"]["correctness"]["value"], 0.4);
}

TEST(Metrics, WinsAreOfWorkloads) {
  EXPECT_TRUE(measure(sample(), {}).win_at_p.empty());
  report::Run run = sample();
  run.problems[0].workloads = {2, 0.9, 0};
  run.problems[1].workloads = {1.1};
  Metrics m = measure(run, {});
  ASSERT_EQ(m.win_at_p.size(), kFastP.size());
  EXPECT_DOUBLE_EQ(m.win_at_p[1].value.value, 0.75);  // over 0.8
  EXPECT_DOUBLE_EQ(m.win_at_p[2].value.value, 0.5);
  EXPECT_DOUBLE_EQ(m.win_at_p[5].value.value, 0) << "2x is not over 2";
}

TEST(Metrics, WhatIsSpentBesideIsInAllSums) {
  report::Run run = sample();
  run.problems[0].attempts[2].spent = {100, 10, 0.5, 1};
  run.problems[1].beside = {7, 3, 0.25, 2};   // it has two attempts
  run.problems[4].beside = {1, 0, 0.125, 4};  // none
  Metrics m = measure(run, {});
  EXPECT_EQ(m.spent.tokens(), 121);
  EXPECT_EQ(m.spent.cost_usd, 0.875);
  EXPECT_EQ(m.best_so_far[0].spent.tokens(), 1);
  EXPECT_EQ(m.best_so_far[1].spent.cost_usd, 0.375);
  EXPECT_EQ(m.best_so_far[2].spent.tokens(), m.spent.tokens());
  EXPECT_EQ(m.best_so_far[2].spent.seconds, m.spent.seconds);
}

TEST(BestAttempt, FastestOfTheCorrectOnes) {
  EXPECT_EQ(best_attempt(problem("p", {failed()})), nullptr);
  ProblemRecord mixed = problem("p", {untimed(), correct(0.5, 0.4, 0.6), correct(0.5, 0.5, 0.5)});
  EXPECT_EQ(best_attempt(mixed)->id, "1") << "the first of equals, and a timed one";
  EXPECT_EQ(best_attempt(problem("p", {untimed()}))->id, "0");
}

}  // namespace
}  // namespace kw::report
