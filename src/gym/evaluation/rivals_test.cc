// Which forms of the reference a candidate is compared with, and what is said of those that fail.
#include "gym/evaluation/rivals.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "task/candidate.h"

namespace kw::gym {
namespace {

using task::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Compilation> rivals(Baseline baseline, std::vector<std::string> names) {
  EvalOptions options;
  options.baseline = std::move(baseline);
  options.rivals = std::move(names);
  return rivals_of(options);
}

// Twenty samples that pair by their index.
WorkloadReport passed(double candidate, double reference) {
  WorkloadReport report;
  report.candidate_ns.assign(20, candidate);
  report.reference_ns.assign(20, reference);
  report.pair_samples = {20};
  return report;
}

WorkloadReport failed(Outcome outcome) {
  WorkloadReport report;
  report.outcome = outcome;
  return report;
}

TEST(Rivals, AreThoseAskedForOnceEachWithoutTheBaseline) {
  EXPECT_THAT(rivals(Compilation::kNone, {}), IsEmpty());
  EXPECT_THAT(rivals(Compilation::kNone, {"max-autotune", "eager", "compile", "max-autotune"}),
              ElementsAre(Compilation::kMaxAutotune, Compilation::kDefault));
  EXPECT_THAT(rivals(Compilation::kDefault, {"eager", "compile"}), ElementsAre(Compilation::kNone));
  EXPECT_THAT(rivals(Compilation::kNone, {"faster"}), IsEmpty());
  // Beside another candidate every form of the reference is a rival.
  EXPECT_THAT(rivals(task::Candidate{}, {"eager"}), ElementsAre(Compilation::kNone));
}

TEST(Rivals, OnlyWhoIsSurelyFasterNeedsOne) {
  EXPECT_TRUE(is_faster_than_baseline(passed(1e6, 1.1e6)));
  EXPECT_FALSE(is_faster_than_baseline(passed(1e6, 1e6)));
  EXPECT_FALSE(is_faster_than_baseline(passed(1e6, 9e5)));
  WorkloadReport disturbed = passed(1e6, 1.1e6);
  for (std::size_t i = 0; i < 20; i += 2) disturbed.candidate_ns[i] *= 2;
  EXPECT_FALSE(is_faster_than_baseline(disturbed));  // its interval holds 1
  EXPECT_FALSE(is_faster_than_baseline({}));         // it was not timed
  WorkloadReport wrong = passed(1e6, 2e6);
  wrong.outcome = Outcome::kWrongValue;
  EXPECT_FALSE(is_faster_than_baseline(wrong));
}

// A short measurement of a second pair counts as much as a long one of the first.
TEST(Rivals, EveryPairOfProcessesCountsAlike) {
  WorkloadReport two = passed(1e6, 1.5e6);
  for (std::size_t i = 18; i < 20; ++i) two.candidate_ns[i] = 3e6;
  EXPECT_TRUE(is_faster_than_baseline(two));
  two.pair_samples = {18, 2};
  EXPECT_FALSE(is_faster_than_baseline(two));
}

TEST(Rivals, AReportHasTheSamplesAndNoFailure) {
  const RivalReport report = rival_report(Compilation::kMaxAutotune, passed(5, 10));
  EXPECT_EQ(report.baseline, "max-autotune");
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.rival_ns, std::vector<double>(20, 5));
  EXPECT_EQ(report.reference_ns, std::vector<double>(20, 10));
  EXPECT_EQ(report.pair_samples, std::vector<std::int64_t>{20});
}

TEST(Rivals, AFailureSaysHowItEndedAndWhatWasWritten) {
  WorkloadReport report = failed(Outcome::kRuntimeError);
  EXPECT_EQ(rival_report(Compilation::kDefault, report).failure, "runtime_error");
  report.add_hint("it raised an exception during prepare");
  report.log = "\nRuntimeError: no C++ compiler\n";
  EXPECT_EQ(rival_report(Compilation::kDefault, report).failure,
            "runtime_error: it raised an exception during prepare\n"
            "RuntimeError: no C++ compiler");
  report.log = std::string(10'000, 'x');
  EXPECT_LE(rival_report(Compilation::kDefault, report).failure.size(), 600U);
  // One that was not timed is no rival, although it was right.
  EXPECT_EQ(rival_report(Compilation::kDefault, {}).failure, "no time");
}

class KnownRivalsTest : public ::testing::Test {
 protected:
  Result<RivalReport> find(Compilation rival, Result<WorkloadReport> measures) {
    return known_.find(rival, [&](Compilation asked) -> Result<WorkloadReport> {
      EXPECT_EQ(asked, rival);
      ++measured_;
      return measures;
    });
  }

  KnownRivals known_;
  int measured_ = 0;
};

TEST_F(KnownRivalsTest, EachIsMeasuredOnceAndFailuresAreKnownToo) {
  EXPECT_EQ(find(Compilation::kDefault, passed(1, 2))->failure, "");
  EXPECT_EQ(find(Compilation::kMaxAutotune, failed(Outcome::kWrongValue))->failure, "wrong_value");
  EXPECT_EQ(measured_, 2);
  EXPECT_EQ(find(Compilation::kDefault, passed(3, 4))->rival_ns.at(0), 1);
  EXPECT_EQ(find(Compilation::kMaxAutotune, passed(3, 4))->failure, "wrong_value");
  EXPECT_EQ(measured_, 2);
}

TEST_F(KnownRivalsTest, ADisturbedMeasurementIsMadeAgain) {
  EXPECT_EQ(find(Compilation::kDefault, failed(Outcome::kNoisy))->failure, "noisy");
  EXPECT_EQ(find(Compilation::kDefault, passed(1, 2))->failure, "");
  EXPECT_EQ(find(Compilation::kDefault, failed(Outcome::kNoisy))->failure, "");
  EXPECT_EQ(measured_, 2);
}

TEST_F(KnownRivalsTest, AnErrorOfOursIsNoFindingAboutTheRival) {
  const auto gone = find(Compilation::kDefault, fail(ErrorCode::kUnavailable, "the checker ended"));
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message(), HasSubstr("the checker ended"));
  EXPECT_EQ(find(Compilation::kDefault, passed(1, 2))->failure, "");
  EXPECT_EQ(measured_, 2);
}

}  // namespace
}  // namespace kw::gym
