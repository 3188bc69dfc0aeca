// Thresholds and counts.
#include "gym/measure/disturbance.h"

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
  if (disturbance.faults * 100 > disturbance.wall) return DisturbanceKind::kFaults;
  // A launch may take this much longer for its wake-up and for freezing.
  constexpr auto kWakeUp = std::chrono::microseconds(200);
  return disturbance.unexplained > kWakeUp * disturbance.launches &&
                 disturbance.unexplained * 50 > disturbance.wall
             ? DisturbanceKind::kClocks
             : DisturbanceKind::kNone;
}

bool too_many_dropped(std::uint64_t dropped, std::uint64_t kept) {
  constexpr double kMaxDropped = 0.1;
  constexpr std::uint64_t kMinSamples = 10;  // before so many nothing is called noisy
  const std::uint64_t all = kept + dropped;
  return all >= kMinSamples &&
         static_cast<double>(dropped) > kMaxDropped * static_cast<double>(all);
}

std::string_view noise_message(std::uint64_t by_faults, std::uint64_t by_others) {
  return by_faults > by_others ? "page faults took more than 1 % of the calls' time: allocate "
                                 "scratch memory once, in "
                                 "prepare()"
                               : "other work on the machine took time from the calls";
}

bool SampleFilter::keep(const Disturbance& candidate, const Disturbance& reference) {
  DisturbanceKind kind = kind_of(candidate);
  if (kind == DisturbanceKind::kNone) kind = kind_of(reference);
  counts_[static_cast<std::size_t>(kind)] += 1;
  bool kept = kind == DisturbanceKind::kNone;
  (kept ? kept_ : dropped_) += 1;
  return kept;
}

}  // namespace kw::gym
