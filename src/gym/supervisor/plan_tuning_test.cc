// Tests of the configurations that are tried, and of the one that is taken.
#include "gym/supervisor/plan_tuning.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::Outcome;
using task::PlanChoice;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const PlanChoice kThreeOfWhichTheSecond{"softmax", 3, 1, "BLOCK: 64"};
const PlanChoice kTwo{"sum", 2, 0, "BLOCK: 32"};

Tried passes(std::int64_t ns) {
  return {Outcome::kPassed, ns};
}

TEST(PlanTuning, TriesEachConfigurationThatTheRuleDidNotTake) {
  EXPECT_TRUE(tuning_variants({}).empty());
  EXPECT_EQ(tuning_variants({kThreeOfWhichTheSecond, kTwo}),
            (std::vector<TuningVariant>{{0, 0}, {0, 2}, {1, 1}}));
}

TEST(PlanTuning, SpreadsWhatItTriesOverManyConfigurations) {
  const std::vector<PlanChoice> many(3, {"matmul", 418, 7, ""});
  const auto variants = tuning_variants(many);
  ASSERT_EQ(variants.size(), kMaxTuningVariants);
  std::set<std::pair<std::size_t, std::int64_t>> seen;
  for (const TuningVariant& each : variants) {
    seen.emplace(each.choice, each.configuration);
    EXPECT_NE(each.configuration, 7);
    EXPECT_LT(each.configuration, 418);
  }
  EXPECT_EQ(seen.size(), kMaxTuningVariants);
  EXPECT_EQ(variants.back().choice, 2U);
}

TEST(PlanTuning, AVariantChangesOneChoice) {
  EXPECT_EQ(configurations_of({kThreeOfWhichTheSecond, kTwo}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(configurations_of({kThreeOfWhichTheSecond, kTwo}, TuningVariant{1, 1}),
            (std::vector<std::int64_t>{1, 1}));
}

TEST(PlanTuning, EachTunerTakesItsFastest) {
  const auto result = tuned({kThreeOfWhichTheSecond, kTwo}, passes(1000),
                            {{{0, 0}, passes(900)}, {{0, 2}, passes(800)}, {{1, 1}, passes(700)}});
  EXPECT_EQ(result.configurations, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(result.all, 3);
  EXPECT_EQ(result.tried, 3);
  EXPECT_EQ(result.wrong, 0);
}

TEST(PlanTuning, TheRulesStaysWhereNoneIsClearlyFaster) {
  const auto result = tuned({kThreeOfWhichTheSecond}, passes(1000),
                            {{{0, 0}, passes(985)}, {{0, 2}, passes(1500)}});
  EXPECT_EQ(result.configurations, (std::vector<std::int64_t>{1}));
}

TEST(PlanTuning, AWrongOneIsTakenWhereItIsTheFastest) {
  const Tried wrong{Outcome::kWrongValue, 500};
  const auto result = tuned({kThreeOfWhichTheSecond}, passes(1000),
                            {{{0, 0}, wrong}, {{0, 2}, Tried{Outcome::kWrongValue, 600}}});
  EXPECT_EQ(result.configurations, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(result.wrong, 1) << "the one that is taken is judged by itself";
}

TEST(PlanTuning, OneThatFaultsOrCannotBeUsedIsNotTaken) {
  const auto result = tuned({kThreeOfWhichTheSecond}, passes(1000),
                            {{{0, 0}, Tried{Outcome::kRuntimeError, 0}}, {{0, 2}, std::nullopt}});
  EXPECT_EQ(result.configurations, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(result.tried, 2);
  EXPECT_EQ(result.wrong, 1);
}

TEST(PlanTuning, AnyIsBetterThanARulesThatFaults) {
  const auto result = tuned({kTwo}, Tried{Outcome::kTimeout, 0}, {{{0, 1}, passes(9'000'000)}});
  EXPECT_EQ(result.configurations, (std::vector<std::int64_t>{1}));
}

std::vector<std::string> told(const WorkloadReport& report) {
  std::vector<std::string> out;
  for (const task::Diagnostic& each : report.diagnostics)
    out.push_back(each.kind + ": " + each.message);
  return out;
}

TEST(PlanTuning, AChoiceByRuleIsARiskOfTheTime) {
  WorkloadReport report;
  report_untuned(report, {kTwo, {"matmul", 12, 0, ""}});
  EXPECT_THAT(told(report), ElementsAre(AllOf(StartsWith("risk: "), HasSubstr("among 12"))));
}

TEST(PlanTuning, AReportSaysWhatWasTakenAndWhatIsARisk) {
  WorkloadReport report;
  report_tuning(report, {kThreeOfWhichTheSecond}, {.all = 2, .tried = 2});
  EXPECT_THAT(told(report), ElementsAre("kernels: tuned by time: softmax takes BLOCK: 64 (of 3)"));
  report = {};
  report_tuning(report, std::vector<PlanChoice>(6, kTwo), {.all = 50, .tried = 40, .wrong = 3});
  EXPECT_THAT(told(report),
              ElementsAre(HasSubstr("; 2 more"), HasSubstr("3 of 40 other configurations"),
                          HasSubstr("40 of 50 other configurations")));
}

}  // namespace
}  // namespace kw::gym
