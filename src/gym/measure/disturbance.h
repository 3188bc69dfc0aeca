// Finds timed samples that were disturbed by the machine, and limits how many of them a measurement
// may have.
#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

namespace kw::gym {

// Disturbances on the machine during the timed calls of one side of a sample.
struct Disturbance {
  std::chrono::nanoseconds wall{0};  // wall time of the timed calls
  std::chrono::nanoseconds stolen{
      0};  // taken by the hypervisor from the executor's cores (/proc/stat; resolution 10 ms)
  std::chrono::nanoseconds faults{0};  // spent in page faults: their number x the cost of one
  std::chrono::nanoseconds waited{0};  // ready to run, while something else had the core
  // On a GPU: time by the checker's clock that the GPU's clock does not have, over all launches.
  std::chrono::nanoseconds unexplained{0};
  int launches = 0;
};

enum class DisturbanceKind { kNone, kStolen, kPreempted, kFaults, kClocks };

// Returns the first that applies: more than 10 ms of stolen time (the step in which it is counted),
// more than 5 % of the time (and 1 ms) spent waiting for a core, more than 1 % in page faults,
// clocks that differ by more than 2 % and by more than 200 us a launch.
DisturbanceKind kind_of(const Disturbance& disturbance);

// Whether so many dropped samples are too many, and what a verdict then says, by what most of them
// suffered from.
bool too_many_dropped(std::uint64_t dropped, std::uint64_t kept);
std::string_view noise_message(std::uint64_t by_faults, std::uint64_t by_others);

// Decides sample by sample. A disturbed sample is dropped whole, both sides, so that neither side's
// slow calls are picked out. At most one in ten may be dropped, or a candidate could be slow only
// in calls that it also disturbs. Not thread-safe.
class SampleFilter {
 public:
  // Whether to keep the sample.
  bool keep(const Disturbance& candidate, const Disturbance& reference);

  std::uint64_t kept() const { return kept_; }
  std::uint64_t dropped() const { return dropped_; }
  // Too many were dropped: no time can be given (task::Outcome::kNoisy).
  bool noisy() const { return too_many_dropped(dropped_, kept_); }
  std::uint64_t dropped_by(DisturbanceKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }

 private:
  std::uint64_t kept_ = 0, dropped_ = 0;
  std::uint64_t counts_[5] = {};
};

}  // namespace kw::gym
