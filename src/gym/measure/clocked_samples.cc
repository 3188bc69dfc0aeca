#include "gym/measure/clocked_samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kw::gym {
namespace {

// Other programs' turns are no part of the processor's time. Page faults are.
Disturbance by_processor(Disturbance disturbance, double processor_ns, double wall_ns) {
  disturbance.wall = std::chrono::nanoseconds(
      std::llround(static_cast<double>(disturbance.wall.count()) * processor_ns / wall_ns));
  disturbance.stolen = disturbance.waited = std::chrono::nanoseconds(0);
  return disturbance;
}

}  // namespace

void ClockedSamples::add(const ClockedSample& sample) {
  all_.push_back(sample);
  count(sample);
  if (wall_is_hopeless()) take_processor_clock();
}

void ClockedSamples::end() {
  if (clock_ == task::Clock::kWall && filter_.noisy() && has_processor_clock())
    take_processor_clock();
}

bool ClockedSamples::has_processor_clock() const {
  return std::ranges::all_of(all_, [](const ClockedSample& sample) {
    return sample.processor.candidate_ns > 0 && sample.processor.reference_ns > 0;
  });
}

// Two bad samples among ten may be bad luck: the clock changes when most are disturbed, or when the
// interval is narrow enough and they still are too many.
bool ClockedSamples::wall_is_hopeless() const {
  if (clock_ != task::Clock::kWall || !filter_.noisy() || !has_processor_clock()) return false;
  return filter_.dropped() > filter_.kept() || interval_.done();
}

void ClockedSamples::count(const ClockedSample& sample) {
  const bool is_wall = clock_ == task::Clock::kWall;
  const PairedTimes& times = is_wall ? sample.wall : sample.processor;
  const bool kept =
      is_wall ? filter_.keep(sample.candidate, sample.reference)
              : filter_.keep(
                    by_processor(sample.candidate, times.candidate_ns, sample.wall.candidate_ns),
                    by_processor(sample.reference, times.reference_ns, sample.wall.reference_ns));
  if (!kept) return;
  candidate_ns_.push_back(times.candidate_ns);
  reference_ns_.push_back(times.reference_ns);
  interval_.add(std::log(times.reference_ns / times.candidate_ns));
}

void ClockedSamples::take_processor_clock() {
  clock_ = task::Clock::kProcessor;
  interval_ = SequentialInterval(half_width_, process_pairs_);
  filter_ = SampleFilter();
  candidate_ns_.clear();
  reference_ns_.clear();
  for (const ClockedSample& sample : all_) count(sample);
}

}  // namespace kw::gym
