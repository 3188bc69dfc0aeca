// TimedBlocks: measures one candidate beside its baseline, block by block, every launch compared,
// some audited, until the interval is narrow enough (docs/measuring.md).
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "gym/checker/audit_schedule.h"
#include "gym/checker/hard_schedule.h"
#include "gym/checker/judged_calls.h"
#include "gym/checker/judging_context.h"
#include "gym/measure/clocked_samples.h"
#include "gym/measure/disturbance.h"

namespace kw::gym {

// The times of a judgement. A sample is one half of a block, its time that of one call: the mean
// over the half's calls.
struct Measured {
  ClockedSamples samples;
  std::int64_t blocks = 0;
  double check_ms = 0, time_ms = 0;       // spent on checks and in timed launches
  double calibrate_ms = 0, lease_ms = 0;  // launches without a call; while others measured
};

// Measures blocks; it borrows everything and is not thread-safe. Errors are those of JudgedCalls.
class TimedBlocks {
 public:
  TimedBlocks(JudgingContext& context, Side& candidate, JudgedCalls& calls, FirstFault& fault);

  // It needs no turn: it leases the host block by block, and a GPU for about 100 ms at a time.
  Status run();
  const Measured& measured() const { return measured_; }

 private:
  // Set numbers, one call each.
  using Group = std::vector<std::uint32_t>;
  // One half of a block.
  struct Half {
    Group sets;
    std::vector<HardSchedule::Call> hard;       // by call
    std::optional<std::uint32_t> audited = {};  // one of the sets
    bool is_hard() const;                       // checked, not timed
  };
  // One half of a block: pairs of launches on the same inputs, one right after the other.
  struct Sample {
    ClockedSample clocked;
    bool is_hard = false;
  };

  Status calibrate();
  Status calibrate_candidate();
  using Phase = HardSchedule::Phase;
  Phase phase() const;
  // Two, or the first alone where nothing but a last hard call is wanted.
  using Halves = std::vector<Half>;
  Halves next_halves();
  void choose_audit(Halves& halves, bool is_late);
  Result<std::vector<Sample>> timed_block(const Halves& halves);
  // One pair of launches: some calls of a half, or all of them.
  struct Launches {
    std::array<Side*, 2> order;
    const Half* half = nullptr;
    std::size_t first = 0;  // call of the half
    Group sets;
    Sample* sample = nullptr;  // of the half
  };
  Result<std::vector<Sample>> block(const Halves& halves);
  std::vector<Launches> launches_of(const Halves& halves, std::vector<Sample>& samples);
  Status fill(const Launches& launches);
  Status check(const Launches& launches, const Launches* next);
  Status pair_of_launches(const std::array<Side*, 2>& order, const Group& sets,
                          ClockedSample& sample);
  Status check_late(const Group& sets);
  std::chrono::nanoseconds witnessed(const Side& side, const LaunchResult& done,
                                     std::chrono::nanoseconds time) const;
  std::chrono::nanoseconds time_of(const Side& side, const LaunchResult& done) const;
  std::chrono::nanoseconds processor_time_of(const Side& side, const LaunchResult& done) const;
  void add_launch(const Side& side, const LaunchResult& done, ClockedSample& sample) const;
  void add_sample(Sample sample);
  bool separate(ClockedSample& sample);
  bool is_over(bool is_late);
  bool has_enough(bool is_late);
  Result<LeaseScope> take_lease();
  // Has the lease when it returns: that of the block before, unless others may want it by now.
  Status keep_lease();

  JudgingContext& context_;
  Side& candidate_;
  JudgedCalls& calls_;
  FirstFault& fault_;
  CheckerClock::Time begun_;
  Rng secret_;
  AuditSchedule audits_;
  bool audit_is_due_ = false;
  HardSchedule hard_;
  bool is_closing_ = false;  // samples are enough; hard calls are left
  Measured measured_;
  std::int64_t patience_ = 0;               // blocks until a noisy measurement ends; 0: not yet set
  std::uint32_t first_set_ = 0;             // first set of the next block
  std::vector<double> reference_phase_ns_;  // only with interleaving switched off
  std::chrono::nanoseconds lease_wait_{0};  // while others measured
  std::optional<LeaseScope> held_;          // of a block
  CheckerClock::Time held_since_;
};

}  // namespace kw::gym
