#include "gym/measure/clocked_samples.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double kMs = 1e6;

// The reference takes 4 ms and the candidate 2 ms of the processor. Others have its core for `lost`
// of each call.
ClockedSample sample(milliseconds lost, bool has_processor = true) {
  ClockedSample out;
  const double more = kMs * static_cast<double>(lost.count());
  out.wall = {2 * kMs + more, 4 * kMs + more};
  if (has_processor) out.processor = {2 * kMs, 4 * kMs};
  out.candidate = {.wall = milliseconds(2) + lost, .waited = lost};
  out.reference = {.wall = milliseconds(4) + lost, .waited = lost};
  return out;
}

ClockedSample faulting() {
  ClockedSample out = sample(milliseconds(0));
  out.candidate.faults = milliseconds(1);
  return out;
}

ClockedSamples samples_of(const std::vector<ClockedSample>& all) {
  ClockedSamples out(0.03, 1);
  for (const ClockedSample& one : all) out.add(one);
  out.end();
  return out;
}

TEST(ClockedSamples, TheWallClockCountsWhereItIsCalm) {
  ClockedSamples samples = samples_of(std::vector(20, sample(milliseconds(0))));
  EXPECT_EQ(samples.clock(), task::Clock::kWall);
  EXPECT_EQ(samples.candidate_ns(), std::vector(20, 2 * kMs));
  EXPECT_TRUE(samples.is_narrow());
  EXPECT_FALSE(samples.is_noisy());
}

TEST(ClockedSamples, TheProcessorsClockCountsForAllSamplesWhereMostAreDisturbed) {
  std::vector<ClockedSample> all(8, sample(milliseconds(3)));
  all.insert(all.end(), 12, sample(milliseconds(0)));
  ClockedSamples samples = samples_of(all);
  EXPECT_EQ(samples.clock(), task::Clock::kProcessor);
  EXPECT_EQ(samples.candidate_ns(), std::vector(20, 2 * kMs));
  EXPECT_EQ(samples.reference_ns(), std::vector(20, 4 * kMs));
  EXPECT_EQ(samples.filter().dropped(), 0U);
  EXPECT_FALSE(samples.is_noisy());
}

TEST(ClockedSamples, AFewDisturbedOnesMayBeBadLuck) {
  ClockedSamples samples(0.03, 1);
  for (int i = 0; i < 2; ++i) samples.add(sample(milliseconds(3)));
  for (int i = 0; i < 7; ++i) samples.add(sample(milliseconds(0)));
  // Eight calm ones make an interval.
  EXPECT_EQ(samples.clock(), task::Clock::kWall);
  samples.add(sample(milliseconds(0)));
  EXPECT_EQ(samples.clock(), task::Clock::kProcessor);
}

TEST(ClockedSamples, AtTheEndADisturbedWallClockCountsNoLonger) {
  ClockedSamples samples(0.0001, 1);
  for (int i = 0; i < 12; ++i) {
    ClockedSample one = sample(milliseconds(i % 3 == 0 ? 3 : 0));
    one.wall.candidate_ns *= 1 + 0.1 * (i % 2);  // the interval is wide
    one.processor.candidate_ns *= 1 + 0.1 * (i % 2);
    samples.add(one);
  }
  EXPECT_EQ(samples.clock(), task::Clock::kWall);
  EXPECT_TRUE(samples.is_noisy());
  samples.end();
  EXPECT_EQ(samples.clock(), task::Clock::kProcessor);
  EXPECT_EQ(samples.candidate_ns().size(), 12U);
}

TEST(ClockedSamples, WithoutAProcessorClockDisturbedOnesAreNoise) {
  ClockedSamples samples = samples_of(std::vector(20, sample(milliseconds(3), false)));
  EXPECT_EQ(samples.clock(), task::Clock::kWall);
  EXPECT_TRUE(samples.is_noisy());
}

// They are the candidate's own, by whichever clock.
TEST(ClockedSamples, PageFaultsAreNoiseByBothClocks) {
  ClockedSamples samples = samples_of(std::vector(20, faulting()));
  EXPECT_TRUE(samples.is_noisy());
  EXPECT_EQ(samples.filter().dropped_by(DisturbanceKind::kFaults), 20U);
}

// 30 us in faults: less than 1 % of the wall time, more than 1 % of the processor's.
TEST(ClockedSamples, FaultsAreComparedWithTheTimeThatCounts) {
  ClockedSample one = sample(milliseconds(3));
  one.candidate.faults = nanoseconds(30'000);
  ClockedSamples samples = samples_of(std::vector(20, one));
  EXPECT_EQ(samples.clock(), task::Clock::kProcessor);
  EXPECT_TRUE(samples.is_noisy());
}

}  // namespace
}  // namespace kw::gym
