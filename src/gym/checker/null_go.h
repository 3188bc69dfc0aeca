// What a go costs without a call: taken off every sample.
#pragma once
#include <chrono>
#include <span>

namespace kw::gym {

// wall: thaw to confirmed freeze. waited: ready, while something else had its core. cpu_time: of
// the whole sandbox.
struct NullGo {
  std::chrono::nanoseconds wall{0}, waited{0}, cpu_time{0};
};

struct NullGos {
  NullGo median;
  // Whether the median is near the shortest of them: where something else takes the core, gos take
  // a time slice longer, and too much would be taken off, most of all off short calls.
  bool steady = true;
};
NullGos null_gos_of(std::span<const NullGo> gos);  // at least one

// The lesser of each duration.
NullGo lesser(const NullGo& a, const NullGo& b);

}  // namespace kw::gym
