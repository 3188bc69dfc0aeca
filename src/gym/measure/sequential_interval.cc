// Looks, stopping and the reported interval.
#include "gym/measure/sequential_interval.h"

#include <algorithm>
#include <cmath>

namespace kw::gym {
namespace {

constexpr double kAlphaOfLook = 0.025;
constexpr double kOneProcessError = 0.005;  // A/A runs over the suite, docs/performance.md

double half_width(const Interval& interval) {
  return (interval.high - interval.low) / 2;
}

}  // namespace

Interval look_interval(std::span<const double> log_ratios) {
  Interval interval = signed_rank_interval(log_ratios, kAlphaOfLook);
  double widen = std::sqrt(autocorrelation_factor(log_ratios));
  interval.low = interval.estimate - widen * (interval.estimate - interval.low);
  interval.high = interval.estimate + widen * (interval.high - interval.estimate);
  return interval;
}

double process_error(int process_pairs) {
  return kOneProcessError / std::sqrt(static_cast<double>(std::max(1, process_pairs)));
}

SequentialInterval::SequentialInterval(double half_width, int process_pairs) {
  // What the samples may leave of it; all of it where the processes alone are wider.
  double between = 2 * process_error(process_pairs);
  double inside =
      half_width > between ? std::sqrt(half_width * half_width - between * between) : half_width;
  goal_ = inside * std::sqrt(static_cast<double>(std::max(1, process_pairs)));
}

void SequentialInterval::add(double log_ratio) {
  log_ratios_.push_back(log_ratio);
  if (log_ratios_.size() >= kMaxSamples) done_ = true;
  if (done_ || log_ratios_.size() < next_look_) return;
  next_look_ += next_look_ / 4;
  done_ = half_width(look_interval(log_ratios_)) <= goal_;
}

task::Speedup interval_of_samples(std::span<const double> candidate,
                                  std::span<const double> reference, int process_pairs) {
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < std::min(candidate.size(), reference.size()); ++i) {
    log_ratios.push_back(std::log(reference[i] / candidate[i]));
  }
  Interval inside = look_interval(log_ratios);
  double between = 2 * process_error(process_pairs);
  double below = std::hypot(inside.estimate - inside.low, between);
  double above = std::hypot(inside.high - inside.estimate, between);
  return {std::exp(inside.estimate), std::exp(inside.estimate - below),
          std::exp(inside.estimate + above)};
}

task::Speedup geometric_mean(std::span<const task::Speedup> speedups) {
  double sum = 0;
  double below = 0;
  double above = 0;
  for (const task::Speedup& s : speedups) {
    sum += std::log(s.median);
    below += std::pow(std::log(s.median / s.low), 2);
    above += std::pow(std::log(s.high / s.median), 2);
  }
  auto count = static_cast<double>(std::max<std::size_t>(1, speedups.size()));
  double center = sum / count;
  return {std::exp(center), std::exp(center - std::sqrt(below) / count),
          std::exp(center + std::sqrt(above) / count)};
}

}  // namespace kw::gym
