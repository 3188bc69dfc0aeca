#include "service/held_lease.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

const Error kStopped(ErrorCode::kCancelled, "stopped"), kGone(ErrorCode::kUnavailable, "gone");

TEST(HeldLease, ARenewalMayTakeAThirdOfTheLease) {
  EXPECT_EQ(HeldLease(30).renewal_pause(), std::chrono::seconds(10));
}

TEST(HeldLease, AnUnreachableServerEndsNoLeaseAndARefusalDoes) {
  HeldLease lease(30);
  EXPECT_TRUE(lease.goes_on_after(true));
  EXPECT_TRUE(lease.goes_on_after(tl::unexpected(kGone)));
  EXPECT_EQ(lease.report_of(&kGone, false), ReportKind::kFail);
  EXPECT_FALSE(lease.goes_on_after(fail(ErrorCode::kAlreadyExists, "the lease is over")));
  EXPECT_EQ(lease.report_of(&kStopped, false), ReportKind::kRelease);
}

TEST(HeldLease, WhatNobodyWaitsForIsGivenBack) {
  HeldLease lease(30);
  EXPECT_FALSE(lease.goes_on_after(false));
  EXPECT_EQ(lease.report_of(&kStopped, false), ReportKind::kRelease);
  EXPECT_EQ(lease.report_of(nullptr, false), ReportKind::kComplete) << "the judgement was ready";
}

TEST(HeldLease, AStoppedWorkerGivesBackWhatItBrokeOff) {
  const HeldLease lease(30);
  EXPECT_EQ(lease.report_of(&kStopped, true), ReportKind::kRelease);
  EXPECT_EQ(lease.report_of(&kGone, true), ReportKind::kFail);
  EXPECT_EQ(lease.report_of(nullptr, true), ReportKind::kComplete);
}

}  // namespace
}  // namespace kw::service
