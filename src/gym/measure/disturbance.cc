// Thresholds and counts.
#include "gym/measure/disturbance.h"

#include <algorithm>
#include <iterator>

namespace kw::gym {

DisturbanceKind kind_of(const Disturbance& disturbance) {
  // Counted in steps of 10 ms: a single step may have been stolen at any time before.
  constexpr auto kStep = std::chrono::milliseconds(10);
  if (disturbance.stolen > kStep) return DisturbanceKind::kStolen;
  // A process takes a core for a millisecond and more. Wake-ups and kernel threads take some tens
  // of microseconds: the interval covers those.
  constexpr auto kTurn = std::chrono::milliseconds(1);
  if (disturbance.waited > kTurn && disturbance.waited * 20 > disturbance.wall)
    return DisturbanceKind::kPreempted;
  return disturbance.faults * 100 > disturbance.wall ? DisturbanceKind::kFaults
                                                     : DisturbanceKind::kNone;
}

bool SampleFilter::keep(const Disturbance& candidate, const Disturbance& reference) {
  DisturbanceKind kind = kind_of(candidate);
  if (kind == DisturbanceKind::kNone) kind = kind_of(reference);
  counts_[static_cast<std::size_t>(kind)] += 1;
  bool kept = kind == DisturbanceKind::kNone;
  (kept ? kept_ : dropped_) += 1;
  return kept;
}

bool SampleFilter::noisy() const {
  std::uint64_t all = kept_ + dropped_;
  return all >= kLeastSamples &&
         static_cast<double>(dropped_) > kMostDropped * static_cast<double>(all);
}

DisturbanceKind SampleFilter::reason() const {
  if (dropped_ == 0) return DisturbanceKind::kNone;
  return static_cast<DisturbanceKind>(std::max_element(std::begin(counts_) + 1, std::end(counts_)) -
                                      std::begin(counts_));
}

}  // namespace kw::gym
