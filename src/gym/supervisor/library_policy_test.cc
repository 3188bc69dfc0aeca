// Which reports of Triton candidates break which policy.
#include "gym/supervisor/library_policy.h"

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

Json passed_report(const std::vector<std::string>& ran, std::uint64_t library_calls) {
  Json kernels = Json::array();
  for (const std::string& identity : ran)
    kernels.push_back({{"identity", identity}, {"launches", 3}, {"programs", 12}});
  return {{"outcome", "passed"},
          {"violation", ""},
          {"diagnostics", Json::array()},
          {"launches",
           {{"kernel_count", ran.size()}, {"library_calls", library_calls}, {"kernels", kernels}}}};
}

std::string judged(Json report, const TritonBuild& build, Library library) {
  apply_library_policy(report, build, library);
  return report["violation"] == "" ? report["outcome"] : report["violation"];
}

TEST(LibraryPolicy, KernelsThatWereCompiledPass) {
  Json report = passed_report({"a", "b"}, 0);
  apply_library_policy(report, build_of({"a", "b", "c"}), Library::kKernelOnly);
  EXPECT_EQ(report["outcome"], "passed");
  EXPECT_EQ(report["kernels"][1]["name"], "kernel_b");
  EXPECT_THAT(report["diagnostics"][0]["message"].get<std::string>(),
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

TEST(LibraryPolicy, MoreKernelsThanAreReportedCannotBeJudged) {
  Json report = passed_report({"a"}, 0);
  report["launches"]["kernel_count"] = 33;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kLibrariesAllowed), "unsupported");
}

TEST(LibraryPolicy, AFailureStaysWhatItIs) {
  Json report = passed_report({"a"}, 0);
  report["outcome"] = "wrong_value";
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "wrong_value");
  report["launches"]["library_calls"] = 4;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kLibrariesAllowed), "wrong_value");
  report["outcome"] = "timeout";
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "timeout");
}

// Host code sees made-up values there: its outputs are wrong because it computed them.
TEST(LibraryPolicy, WrongOutputsOfHostCodeAreItsFallback) {
  Json report = passed_report({"a"}, 4);
  report["outcome"] = "wrong_value";
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "library_fallback");
  report = passed_report({}, 0);
  report["outcome"] = "wrong_value";
  EXPECT_EQ(judged(report, build_of({}), Library::kKernelOnly), "ghost_kernel");
}

TEST(LibraryPolicy, AFallbackIsFoundBehindTooManyKernels) {
  Json report = passed_report({"a"}, 4);
  report["launches"]["kernel_count"] = 33;
  EXPECT_EQ(judged(report, build_of({"a"}), Library::kKernelOnly), "library_fallback");
}

TEST(LibraryPolicy, AReportWithoutLaunchesIsLeftAlone) {
  Json report = {{"outcome", "timeout"}};
  apply_library_policy(report, build_of({}), Library::kKernelOnly);
  EXPECT_EQ(report.size(), 1U);
}

}  // namespace
}  // namespace kw::gym
