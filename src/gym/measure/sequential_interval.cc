// Looks, stopping and the reported interval.
#include "gym/measure/sequential_interval.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace kw::gym {
namespace {

constexpr double kAlphaOfLook = 0.025;
constexpr double kOneProcessError = 0.005;  // A/A runs over the suite, docs/performance.md

double half_width(const Interval& interval) {
  return (interval.high - interval.low) / 2;
}

// Student's 95 % interval of the mean, from the means of two neighbours each; 0 for fewer than two
// of them.
double half_width_between(std::span<const double> estimates) {
  static constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365};
  std::vector<double> couples;
  for (std::size_t i = 0; i + 1 < estimates.size(); i += 2)
    couples.push_back((estimates[i] + estimates[i + 1]) / 2);
  if (couples.size() < 2) return 0;
  const auto count = static_cast<double>(couples.size());
  const double mean = std::accumulate(couples.begin(), couples.end(), 0.0) / count;
  double squares = 0;
  for (double one : couples) squares += (one - mean) * (one - mean);
  const double student = kStudent[std::min(couples.size() - 2, std::size(kStudent) - 1)];
  return student * std::sqrt(squares / (count - 1) / count);
}

}  // namespace

Interval look_interval(std::span<const double> log_ratios) {
  Interval interval = signed_rank_interval(log_ratios, kAlphaOfLook);
  double widen = std::sqrt(std::max(autocorrelation_factor(log_ratios), drift_factor(log_ratios)));
  interval.low = interval.estimate - widen * (interval.estimate - interval.low);
  interval.high = interval.estimate + widen * (interval.high - interval.estimate);
  return interval;
}

double process_error(int process_pairs) {
  return kOneProcessError / std::sqrt(static_cast<double>(std::max(1, process_pairs)));
}

SequentialInterval::SequentialInterval(double half_width, int process_pairs) {
  // The half-width that the samples may have; all of it where the processes alone differ by more.
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
                                  std::span<const double> reference,
                                  std::span<const std::size_t> pair_samples) {
  std::vector<double> estimates;
  double below = 0, above = 0;
  std::size_t at = 0;
  for (std::size_t samples : pair_samples) {
    std::vector<double> log_ratios;
    for (std::size_t end = at + samples; at < end; ++at)
      log_ratios.push_back(std::log(reference[at] / candidate[at]));
    Interval inside = look_interval(log_ratios);
    estimates.push_back(inside.estimate);
    below += std::pow(inside.estimate - inside.low, 2);
    above += std::pow(inside.high - inside.estimate, 2);
  }
  const auto pairs = static_cast<double>(estimates.size());
  const double center = std::accumulate(estimates.begin(), estimates.end(), 0.0) / pairs;
  const double placed = 2 * process_error(static_cast<int>(estimates.size()));
  const double between = half_width_between(estimates);
  below = std::max(between, std::hypot(std::sqrt(below) / pairs, placed));
  above = std::max(between, std::hypot(std::sqrt(above) / pairs, placed));
  return {std::exp(center), std::exp(center - below), std::exp(center + above)};
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

task::Speedup quotient(const task::Speedup& speedup, const task::Speedup& of) {
  const double median = speedup.median / of.median;
  const double below =
      std::hypot(std::log(speedup.median / speedup.low), std::log(of.high / of.median));
  const double above =
      std::hypot(std::log(speedup.high / speedup.median), std::log(of.median / of.low));
  return {median, median * std::exp(-below), median * std::exp(above)};
}

}  // namespace kw::gym
