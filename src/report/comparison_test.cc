// Paired tests against textbook values, and winners that are only named outside the noise.
#include "report/comparison.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"
#include "report/report.h"
#include "report/significance.h"
#include "report/testing/runs.h"

namespace kw::report {
namespace {

TEST(Significance, McNemarByHand) {
  EXPECT_DOUBLE_EQ(mcnemar_exact(0, 0), 1);
  EXPECT_DOUBLE_EQ(mcnemar_exact(3, 3), 1);
  EXPECT_NEAR(mcnemar_exact(6, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(mcnemar_exact(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(mcnemar_exact(9, 1), 2.0 * 11 / 1024, 1e-12);  // 1 + 10 of 2^10
  EXPECT_NEAR(mcnemar_exact(8, 2), 2.0 * 56 / 1024, 1e-12);  // 1 + 10 + 45
  EXPECT_NEAR(mcnemar_exact(1050, 950), 0.0268, 0.0002);     // 2^-2000 is no double
}

TEST(Significance, SignFlips) {
  EXPECT_EQ(sign_flip_test({}, 1, 1000), 1);
  EXPECT_EQ(sign_flip_test({0, 0}, 1, 1000), 1);
  // All of one sign: 2 of 2^6 flips are as large.
  EXPECT_NEAR(sign_flip_test({1, 1, 1, 1, 1, 1}, 1, 100000), 2.0 / 64, 0.002);
  EXPECT_GT(sign_flip_test({0.5, -0.4, 0.3, -0.5, 0.1}, 1, 10000), 0.5);
}

TEST(Significance, HolmByHand) {
  EXPECT_EQ(holm({}), std::vector<double>{});
  std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[3], 0.02, 1e-12);
}

const MeasureComparison& row(const Comparison& comparison, Measure measure) {
  for (const MeasureComparison& one : comparison.measures) {
    if (one.measure == measure) return one;
  }
  ADD_FAILURE();
  return comparison.measures[0];
}

// `solved` of 40 problems, from the first on, at this speedup.
report::Run with_solved(const std::string& name, int solved, double speedup) {
  report::Run run = run_of(name, {});
  for (int i = 0; i < 40; ++i) {
    Attempt attempt = i < solved ? correct(speedup, speedup * 0.95, speedup * 1.05) : failed();
    run.problems.push_back(problem("p" + std::to_string(i), {attempt}));
  }
  return run;
}

TEST(Comparison, CountsPairs) {
  report::Run a =
      run_of("a", {problem("both", {correct(2, 1.9, 2.1)}), problem("one", {failed()}),
                   problem("mine", {failed()}), problem("changed", {correct(9, 9, 9)})});
  report::Run b =
      run_of("b", {problem("both", {correct(1.5, 1.4, 1.6)}), problem("one", {untimed()}),
                   problem("yours", {failed()}), problem("changed", {failed()})});
  a.problems[3].hash = "x";
  b.problems[3].hash = "y";
  Comparison c = compare(a, b, {});
  EXPECT_EQ(c.problems, 2);
  EXPECT_EQ(c.only_in_run, 1);
  EXPECT_EQ(c.only_in_baseline, 1);
  EXPECT_EQ(c.changed, 1);
  EXPECT_EQ(c.faster, 1);
  EXPECT_EQ(c.slower + c.within_noise, 0);
  const MeasureComparison& correctness = row(c, Measure::kCorrect);
  EXPECT_DOUBLE_EQ(correctness.run, 0.5);
  EXPECT_DOUBLE_EQ(correctness.baseline, 1);
  EXPECT_EQ(correctness.only_baseline, 1);
  EXPECT_DOUBLE_EQ(correctness.difference.value, -0.5);
  EXPECT_NEAR(row(c, Measure::kGeometricMean).difference.value, std::sqrt(2 / 1.5), 1e-12);
}

TEST(Comparison, NamesAWinnerOutsideTheNoise) {
  Report report = make_report({with_solved("base", 10, 1.3), with_solved("new", 30, 1.3)}, 0, {});
  ASSERT_EQ(report.comparisons.size(), 1U);
  const MeasureComparison& correctness = row(report.comparisons[0], Measure::kCorrect);
  EXPECT_EQ(correctness.winner, Winner::kRun);
  EXPECT_NEAR(correctness.p_value, std::pow(0.5, 19), 1e-12);  // 20 to 0
  EXPECT_EQ(row(report.comparisons[0], Measure::kGeometricMean).winner, Winner::kRun);
  Report turned = make_report({with_solved("base", 10, 1.3), with_solved("new", 30, 1.3)}, 1, {});
  EXPECT_EQ(row(turned.comparisons[0], Measure::kCorrect).winner, Winner::kBaseline);
}

TEST(Comparison, NamesNoneInsideTheNoise) {
  // 4 to 0: p = 0.125.
  Report report = make_report({with_solved("base", 20, 1.3), with_solved("new", 24, 1.3)}, 0, {});
  for (const MeasureComparison& one : report.comparisons[0].measures)
    EXPECT_EQ(one.winner, Winner::kNone) << to_string(one.measure);
  EXPECT_NE(sentence(report.comparisons[0].measures[0], "new", "base").find("no winner"),
            std::string::npos);
}

// 6 to 0 alone is p = 0.031, but there are twelve tests here.
TEST(Comparison, ManyTestsNeedMoreEvidence) {
  std::vector<report::Run> runs = {with_solved("base", 20, 1.3), with_solved("a", 26, 0.9),
                                   with_solved("b", 20, 1.3), with_solved("c", 20, 1.3)};
  Report report = make_report(runs, 0, {});
  const MeasureComparison& correctness = row(report.comparisons[0], Measure::kCorrect);
  EXPECT_NEAR(correctness.p_value, 2.0 / 64, 1e-12);
  EXPECT_EQ(correctness.winner, Winner::kNone);
}

TEST(Comparison, OneSolvesAllTheOtherNone) {
  Report report = make_report({with_solved("base", 0, 1), with_solved("new", 40, 2)}, 0, {});
  EXPECT_EQ(row(report.comparisons[0], Measure::kCorrect).winner, Winner::kRun)
      << "the difference has no spread, and so no interval";
}

// Of runs of one method nothing wins: over many pairs at most 5 % of the reports name a winner.
TEST(Comparison, EqualRunsSeldomHaveAWinner) {
  Rng rng(5);
  int named = 0;
  constexpr int kPairs = 300;
  for (int i = 0; i < kPairs; ++i) {
    std::vector<report::Run> runs;
    for (const char* name : {"a", "b"}) {
      report::Run run = run_of(name, {});
      for (int p = 0; p < 40; ++p) {
        double speedup = std::exp(0.1 + 0.4 * rng.normal());
        run.problems.push_back(
            problem(std::to_string(p),
                    {rng.uniform() < 0.5 ? correct(speedup, speedup, speedup) : failed()}));
      }
      runs.push_back(std::move(run));
    }
    BootstrapOptions options;
    options.resamples = 500;
    Report report = make_report(std::move(runs), 0, options);
    bool any = false;
    for (const MeasureComparison& one : report.comparisons[0].measures)
      any = any || one.winner != Winner::kNone;
    if (any) ++named;
  }
  EXPECT_LE(named, kPairs * 8 / 100);
}

// Speedups over another baseline are other numbers.
TEST(Comparison, WarnsWhereSpeedupsDoNotCompare) {
  report::Run a = with_solved("a", 5, 2), b = with_solved("b", 5, 2);
  a.baseline = "eager";
  EXPECT_TRUE(compare(a, b, {}).warnings.empty()) << "nobody knows what b's was";
  b.baseline = "eager";
  EXPECT_TRUE(compare(a, b, {}).warnings.empty());
  b.baseline = "compile";
  b.hardware = "one";
  a.hardware = "another";
  a.target = b.target = "cpu";
  std::vector<std::string> warnings = compare(a, b, {}).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("baselines differ, eager and compile"), std::string::npos);
  EXPECT_NE(warnings[1].find("machines differ, another and one"), std::string::npos);
  Report report = make_report({a, b}, 0, {});
  EXPECT_NE(to_text(report).find("warning      the runs' baselines differ, compile and eager"),
            std::string::npos);
  EXPECT_NE(to_html(report).find("baselines differ"), std::string::npos);
  EXPECT_EQ(to_json(report)["comparisons"][0]["warnings"].size(), 2U);
  a.baseline = b.baseline = kSeveral;
  EXPECT_EQ(compare(a, b, {}).warnings.size(), 2U) << "they need not be the same ones";
}

}  // namespace
}  // namespace kw::report
