// Tests of the page's range checks.
#include "gym/checker/reply.h"

#include <memory>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(Reply, ProgressIsTheGosOwnNumber) {
  EXPECT_EQ(launch_progress(6, 7), LaunchProgress::kRunning);
  EXPECT_EQ(launch_progress(7, 7), LaunchProgress::kDone);
  EXPECT_EQ(launch_progress(8, 7), LaunchProgress::kOutOfTurn);
  EXPECT_EQ(launch_progress(UINT64_MAX, 7), LaunchProgress::kOutOfTurn);
}

TEST(Reply, UnknownNumbersSayNothing) {
  auto page = std::make_unique<ReplyPage>();
  EXPECT_FALSE(style_of(*page));
  page->style = 2;
  EXPECT_EQ(style_of(*page), Style::kReturning);
  page->style = 3;
  EXPECT_FALSE(style_of(*page));
  page->failure = 6;
  EXPECT_EQ(failure_of(*page), Failure::kUnsupported);
  page->failure = 10;
  EXPECT_EQ(failure_of(*page), Failure::kKernelTimeout);
  page->failure = 11;
  EXPECT_EQ(failure_of(*page), Failure::kNone);
  page->failure = UINT32_MAX;
  EXPECT_EQ(failure_of(*page), Failure::kNone);
}

TEST(Reply, APlansKernelsEndAtTheFirstWithoutLaunches) {
  auto page = std::make_unique<ReplyPage>();
  EXPECT_TRUE(plan_call_of(*page).kernels.empty());
  page->plan_kernels[0].launches = 2;
  page->plan_kernels[0].ns = UINT64_MAX;
  page->plan_kernels[1].launches = UINT32_MAX;
  page->plan_kernels[3].launches = 1;
  page->other_steps = 4;
  page->most_threads = 2048;
  const PlanCall call = plan_call_of(*page);
  ASSERT_EQ(call.kernels.size(), 2U);
  EXPECT_EQ(call.kernels[0].launches, 2U);
  EXPECT_LT(call.kernels[0].ns, UINT64_MAX / 2);
  EXPECT_LT(call.kernels[1].launches, UINT32_MAX);
  EXPECT_EQ(call.other_steps, 4U);
}

TEST(Reply, ReportsAreCopied) {
  auto page = std::make_unique<ReplyPage>();
  OutputReport& last = page->reports[kMaxSets - 1][kMaxOutputs - 1];
  last.offset = 64;
  last.dtype = 1;
  last.rank = 8;
  last.shape[7] = 3;
  last.stride[7] = -1;
  OutputReport copy = report_of(*page, kMaxSets - 1, kMaxOutputs - 1);
  last = {};
  EXPECT_EQ(copy.offset, 64U);
  EXPECT_EQ(copy.dtype, 1U);
  EXPECT_EQ(copy.rank, 8U);
  EXPECT_EQ(copy.shape[7], 3);
  EXPECT_EQ(copy.stride[7], -1);
}

}  // namespace
}  // namespace kw::gym
