// Tests of the policies that reports of Triton candidates break.
#include "gym/supervisor/library_policy.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::Library;

TritonBuild build_of(const std::vector<std::string>& identities) {
  TritonBuild build;
  for (const std::string& identity : identities) {
    TritonKernel kernel;
    kernel.identity = identity;
    kernel.name = "kernel_" + identity;
    kernel.num_warps = 4;
    build.kernels.push_back(kernel);
  }
  return build;
}

WorkloadReport passed_report(const std::vector<std::string>& ran, std::uint64_t library_calls) {
  WorkloadReport report;
  report.launches =
      LaunchReport{static_cast<std::uint32_t>(ran.size()), library_calls, 0, false, {}};
  for (const std::string& identity : ran) report.launches->kernels.push_back({identity, 3, 12});
  return report;
}

std::string judged(WorkloadReport report, const TritonBuild& build, Library library) {
  apply_library_policy(report, build, library);
  return report.violation.empty() ? std::string(to_string(report.outcome)) : report.violation;
}

TEST(LibraryPolicy, KernelsThatWereCompiledPass) {
  WorkloadReport report = passed_report({"a", "b"}, 0);
  apply_library_policy(report, build_of({"a", "b", "c"}), Library::kKernelOnly);
  EXPECT_EQ(report.outcome, task::Outcome::kPassed);
  EXPECT_EQ((*report.kernels)[1].name, "kernel_b");
  EXPECT_THAT(report.diagnostics[0].message,
              testing::HasSubstr("kernel_a: 3 launches, 12 programs"));
}

TEST(LibraryPolicy, TellsTheWaysApart) {
  EXPECT_EQ(judged(passed_report({}, 5), build_of({"a"}), Library::kKernelOnly), "ghost_kernel");
  EXPECT_EQ(judged(passed_report({}, 0), build_of({"a"}), Library::kLibrariesAllowed),
            "ghost_kernel");
  EXPECT_EQ(judged(passed_report({"a"}, 1), build_of({"a"}), Library::kKernelOnly),
            "library_fallback");
  EXPECT_EQ(judged(passed_report({"a"}, 1), build_of({"a"}), Library::kLibrariesAllowed), "passed");
  EXPECT_EQ(judged(passed_report({"a", "x"}, 0), build_of({"a"}), Library::kLibrariesAllowed),
            "uncompiled_kernel");
  EXPECT_EQ(judged(passed_report({}, 9), build_of({}), Library::kAnything), "passed");
}

TEST(LibraryPolicy, OtherConfigurationsAreSpreadAndTheWrongOnesAreARisk) {
  EXPECT_TRUE(other_configurations(0).empty());
  EXPECT_TRUE(other_configurations(1).empty());
  EXPECT_EQ(other_configurations(3), (std::vector<std::uint32_t>{1, 2}));
  auto many = other_configurations(418);
  EXPECT_EQ(many.size(), 6u);
  EXPECT_EQ(many.front(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(many) && many.back() < 418 && many.back() > 300);
  WorkloadReport report = passed_report({"a"}, 0);
  report_configurations(report, {.configurations = 418, .tried = 6, .wrong = 0});
  EXPECT_TRUE(report.diagnostics.empty());
  report_configurations(report, {.configurations = 418, .tried = 6, .wrong = 4});
  EXPECT_EQ(report.diagnostics.at(0).kind, "risk");
  EXPECT_THAT(report.diagnostics[0].message, testing::HasSubstr("4 of 6 other configurations"));
}

TEST(LibraryPolicy, MoreKernelsThanAreReportedCannotBeJudged) {
  WorkloadReport report = passed_report({"a"}, 0);
  report.launches->kernel_count = 33;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kLibrariesAllowed), "unsupported");
}

TEST(LibraryPolicy, AFailureStaysWhatItIs) {
  WorkloadReport report = passed_report({"a"}, 0);
  report.outcome = task::Outcome::kWrongValue;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "wrong_value");
  report.launches->library_calls = 4;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kLibrariesAllowed), "wrong_value");
  report.outcome = task::Outcome::kTimeout;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "timeout");
}

// Host code sees made-up values there: its outputs are wrong because it computed them.
TEST(LibraryPolicy, WrongOutputsOfHostCodeAreItsFallback) {
  WorkloadReport report = passed_report({"a"}, 4);
  report.outcome = task::Outcome::kWrongValue;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "library_fallback");
  report = passed_report({}, 0);
  report.outcome = task::Outcome::kWrongValue;
  EXPECT_EQ(judged(report, build_of({}), Library::kKernelOnly), "ghost_kernel");
}

TEST(LibraryPolicy, AFallbackIsFoundBehindTooManyKernels) {
  WorkloadReport report = passed_report({"a"}, 4);
  report.launches->kernel_count = 33;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "library_fallback");
}

TEST(LibraryPolicy, AReportWithoutLaunchesIsLeftAlone) {
  WorkloadReport report;
  report.outcome = task::Outcome::kTimeout;
  apply_library_policy(report, build_of({}), Library::kKernelOnly);
  EXPECT_FALSE(report.kernels);
  EXPECT_TRUE(report.diagnostics.empty());
}

}  // namespace
}  // namespace kw::gym
