// The time of a launch that calls nothing. It is subtracted from every sample.
#pragma once
#include <chrono>
#include <span>

#include "base/result.h"
#include "gym/checker/clock.h"
#include "gym/checker/executor.h"

namespace kw::gym {

// Durations as LaunchResult's.
struct NullLaunch {
  std::chrono::nanoseconds wall{0}, waited{0}, cpu_time{0}, processor_time{0};
  std::chrono::nanoseconds beside{0};  // wall time in which nothing was on the GPU's stream
};

struct NullLaunches {
  NullLaunch median;
  // Whether the median is near the shortest of them: where something else takes the core, launches
  // take a time slice longer, and too much would be taken off, most of all off short calls.
  bool steady = true;
};
NullLaunches null_launches_of(std::span<const NullLaunch> launches);  // at least one

// Measures `count` null launches; zeros when a launch does not end as it should. On a GPU it rests
// before each, as a launch does whose inputs are drawn and whose outputs are compared: a GPU that
// was idle for 10 ms takes 0.1 ms to wake up.
Result<NullLaunches> measure_null_launches(Executor& executor, int count, CheckerClock& clock);

// The lesser of each duration.
NullLaunch lesser(const NullLaunch& a, const NullLaunch& b);

}  // namespace kw::gym
