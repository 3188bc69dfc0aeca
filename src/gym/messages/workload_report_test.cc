// Reports in evidence: what older files lack, and what no number can say.
#include "gym/messages/workload_report.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

Result<WorkloadReport> read(const Json& value, Reading how) {
  return message_of_json<WorkloadReport>(value, "report", how);
}

TEST(WorkloadReport, AnErrorThatIsNotFiniteIsNull) {
  WorkloadReport report;
  report.errors = {{"y", NAN, INFINITY, 0.5, 1}};
  const Json written = to_json(report);
  EXPECT_TRUE(written["errors"][0]["max_absolute"].is_null());
  EXPECT_TRUE(written["errors"][0]["max_relative"].is_null());
  for (Reading how : {Reading::kStrict, Reading::kLenient}) {
    auto again = read(written, how);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->errors[0].max_absolute, INFINITY);
    EXPECT_EQ(again->errors[0].max_relative, INFINITY);
    EXPECT_EQ(again->errors[0].max_of_budget, 0.5);
  }
}

TEST(WorkloadReport, ABorderlineErrorIsKept) {
  WorkloadReport report;
  EXPECT_FALSE(to_json(report).contains("borderline"));
  report.borderline = task::Borderline{1.03, {0.97, 1.02}};
  const Json written = to_json(report);
  EXPECT_EQ(written["borderline"].dump(), R"({"largest":1.03,"further":[0.97,1.02]})");
  for (Reading how : {Reading::kStrict, Reading::kLenient})
    EXPECT_EQ(read(written, how)->borderline, report.borderline);
  Json unknown = written;
  unknown["borderline"].erase("largest");
  EXPECT_EQ(read(unknown, Reading::kLenient)->borderline->largest, INFINITY);
}

TEST(WorkloadReport, AStoredOneMayLackKeysAndHaveOthers) {
  const Json stored = Json::parse(
      R"({"uuid": "u", "outcome": "passed", "process_pairs": 1, "errors": [{"output": "y", "checked_calls": 2}],
          "diagnostics": [{"message": "m"}], "kernelbench": null})");
  EXPECT_FALSE(read(stored, Reading::kStrict));
  auto report = read(stored, Reading::kLenient);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->errors[0].max_of_budget, INFINITY);
  EXPECT_EQ(report->diagnostics[0].kind, "hint");
  EXPECT_FALSE(report->kernelbench);
  EXPECT_FALSE(read(Json{{"outcome", "passed"}}, Reading::kLenient));
}

TEST(WorkloadReport, OfACandidateThatIsNotBuiltHasNothingElse) {
  WorkloadReport report;
  report.uuid = "u";
  report.outcome = task::Outcome::kCompileError;
  EXPECT_EQ(to_json(report).dump(), R"({"uuid":"u","outcome":"compile_error"})");
  EXPECT_TRUE(read(to_json(report), Reading::kStrict));
}

}  // namespace
}  // namespace kw::gym
