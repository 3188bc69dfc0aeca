// The speedup's 95 % interval from paired samples, valid although measuring stops when it is narrow
// enough. docs/measuring.md.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "gym/measure/statistics.h"
#include "task/verdict.h"

namespace kw::gym {

// Looks at the data after kFirstLook samples, then after a quarter more, and so on, and at
// kMaxSamples. Whether to go on depends on the interval's width alone, never on where it lies, as
// in fixed-width sequential estimation (Chow and Robbins 1965). What stopping early then costs,
// since a sample that looks narrower than it is ends the measurement, is paid by the error of each
// look: 0.025 instead of 0.05. sequential_interval_test.cc simulates the coverage of what is
// reported. Not thread-safe.
class SequentialInterval {
 public:
  static constexpr std::size_t kFirstLook = 8;
  static constexpr std::size_t kMaxSamples = 640;

  // half_width: of the log ratio, such as 0.03. process_pairs: how many such intervals, of a
  // process pair each, are joined: each may be wider by its square root.
  explicit SequentialInterval(double half_width, int process_pairs = 1);

  void add(double log_ratio);  // log(reference time / candidate time) of one sample
  bool done() const { return done_; }
  std::size_t samples() const { return log_ratios_.size(); }

 private:
  double goal_;
  bool done_ = false;
  std::size_t next_look_ = kFirstLook;
  std::vector<double> log_ratios_;
};

// The interval that a look sees for log ratios in the order measured. It is signed_rank_interval at
// the error of one look, with its half-widths times the square root of autocorrelation_factor or
// drift_factor: a side whose level wanders tells less than its samples seem to.
Interval look_interval(std::span<const double> log_ratios);

// The differences between process pairs that their own samples cannot show (memory layout, code
// placement), as a standard error of the log ratio.
double process_error(int process_pairs);

// The interval of raw samples, as judging and re-judging report it: sample i took candidate[i] and
// reference[i] (any one unit). pair_samples: how many of them are of each process pair, in their
// order; each pair counts alike, so that what exchanging memory between a pair and the next changes
// cancels out. From four pairs on, the interval is no narrower than Student's interval of the means
// of two: it shows what differs between processes and not within.
task::Speedup interval_of_samples(std::span<const double> candidate,
                                  std::span<const double> reference,
                                  std::span<const std::size_t> pair_samples);

// Geometric mean over workloads measured apart: half-widths add in quadrature, divided by their
// number.
task::Speedup geometric_mean(std::span<const task::Speedup> speedups);

// One speedup in units of another, both over the same baseline and measured apart.
task::Speedup quotient(const task::Speedup& speedup, const task::Speedup& of);

}  // namespace kw::gym
