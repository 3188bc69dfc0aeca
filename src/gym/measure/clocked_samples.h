// ClockedSamples: the paired samples of a measurement by two clocks, and which of them counts.
#pragma once
#include <vector>

#include "gym/measure/disturbance.h"
#include "gym/measure/sequential_interval.h"
#include "task/verdict.h"

namespace kw::gym {

// Nanoseconds of one call of each side.
struct PairedTimes {
  double candidate_ns = 0, reference_ns = 0;
};

// One sample: the same calls by both clocks.
struct ClockedSample {
  PairedTimes wall;
  PairedTimes processor;  // 0: the machine has no such clock
  Disturbance candidate, reference;
};

// The wall clock counts until too many of its samples were disturbed. Then the processor's clock
// counts for all samples, from the first on: which clock counts depends on disturbances alone,
// never on the times. One thread.
class ClockedSamples {
 public:
  // As SequentialInterval's.
  ClockedSamples(double half_width, int process_pairs)
      : half_width_(half_width),
        process_pairs_(process_pairs),
        interval_(half_width, process_pairs) {}

  void add(const ClockedSample& sample);
  // There is no time for more samples: a wall clock with too many disturbed ones counts no longer.
  void end();

  // Whether the interval is narrow enough, and whether too many samples are disturbed all the same.
  bool is_narrow() const { return interval_.done(); }
  bool is_noisy() const { return filter_.noisy(); }

  task::Clock clock() const { return clock_; }
  // The samples that count, by that clock.
  const std::vector<double>& candidate_ns() const { return candidate_ns_; }
  const std::vector<double>& reference_ns() const { return reference_ns_; }
  const SampleFilter& filter() const { return filter_; }

 private:
  bool has_processor_clock() const;
  bool wall_is_hopeless() const;
  void count(const ClockedSample& sample);
  void take_processor_clock();

  double half_width_;
  int process_pairs_;
  task::Clock clock_ = task::Clock::kWall;
  std::vector<ClockedSample> all_;
  SequentialInterval interval_;
  SampleFilter filter_;
  std::vector<double> candidate_ns_, reference_ns_;
};

}  // namespace kw::gym
