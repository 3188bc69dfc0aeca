// Rounding and units.
#include "report/format.h"

#include "base/text.h"
#include "report/report.h"

namespace kw::report {
namespace {

std::string factor_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string range(const std::string& value, const std::string& low, const std::string& high) {
  return fmt::format("{} ({} to {})", value, low, high);
}

}  // namespace

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string factor(double speedup) {
  return factor_digits(speedup) + "x";
}

std::string share_text(const Estimate& estimate) {
  if (!estimate.interval) return percent(estimate.value);
  return range(percent(estimate.value), fmt::format("{:.1f}", 100 * estimate.interval->low),
               fmt::format("{:.1f}", 100 * estimate.interval->high));
}

std::string factor_text(const Estimate& estimate) {
  if (!estimate.interval) return factor(estimate.value);
  return range(factor(estimate.value), factor_digits(estimate.interval->low),
               factor_digits(estimate.interval->high));
}

std::string speedup_text(const Speedup& speedup) {
  if (!speedup.low || !speedup.high) return factor(speedup.median);
  return range(factor(speedup.median), factor_digits(*speedup.low), factor_digits(*speedup.high));
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", 1000 * seconds);
  if (seconds < 120) return fmt::format("{:.{}f} s", seconds, seconds < 9.95 ? 1 : 0);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string count_text(const Metrics& m) {
  std::string out = std::to_string(m.attempts);
  if (m.attempts > 0) {
    out += m.fewest_attempts == m.most_attempts
               ? fmt::format(", {} a problem", m.most_attempts)
               : fmt::format(", {} to {} a problem", m.fewest_attempts, m.most_attempts);
  }
  if (std::int64_t tokens = m.spent.tokens(); tokens > 0)
    out += fmt::format("; {} tokens", short_count(tokens));
  if (m.spent.cost_usd > 0) out += fmt::format("; ${:.2f}", m.spent.cost_usd);
  if (m.spent.seconds > 0) out += "; " + seconds_text(m.spent.seconds);
  return out;
}

std::string quartiles_text(const Quartiles& quartiles) {
  return fmt::format("{}, {}, {}", factor(quartiles.first), factor(quartiles.median),
                     factor(quartiles.third));
}

std::string refinement_text(const Refinement& r) {
  return fmt::format("of {} attempts made from another, {} improved on it, {} fell behind it",
                     r.pairs(), r.improved, r.regressed);
}

std::string p_text(double p) {
  if (p < 0.0001) return "under 0.0001";
  return fmt::format("{:.{}f}", p, p < 0.01 ? 4 : p < 0.1 ? 3 : 2);
}

std::string pairing_text(const Comparison& c) {
  std::string out = fmt::format("{} problem{} in both", c.problems, c.problems == 1 ? "" : "s");
  if (c.only_in_run > 0) out += fmt::format("; {} only in the first", c.only_in_run);
  if (c.only_in_baseline > 0) out += fmt::format("; {} only in the second", c.only_in_baseline);
  if (c.changed > 0) out += fmt::format("; {} left out, since they changed in between", c.changed);
  if (std::int64_t both = c.faster + c.slower + c.within_noise; both > 0) {
    out +=
        fmt::format("; of {} that both solved {} faster, {} slower, {} with overlapping intervals",
                    both, c.faster, c.slower, c.within_noise);
  }
  return out;
}

std::string difference_text(const MeasureComparison& row) {
  const auto& interval = row.difference.interval;
  if (row.measure == Measure::kGeometricMean) {
    std::string value = "ratio " + factor_digits(row.difference.value);
    return interval ? range(value, factor_digits(interval->low), factor_digits(interval->high))
                    : value;
  }
  std::string value = fmt::format("{:+.1f} points", 100 * row.difference.value);
  return interval ? range(value, fmt::format("{:+.1f}", 100 * interval->low),
                          fmt::format("{:+.1f}", 100 * interval->high))
                  : value;
}

std::string sentence(const MeasureComparison& row, const std::string& run,
                     const std::string& baseline) {
  bool ratio = row.measure == Measure::kGeometricMean;
  auto value = [&](double v) { return ratio ? factor(v) : percent(v); };
  std::string verdict = row.winner == Winner::kNone
                            ? "no winner: inside the noise"
                            : (row.winner == Winner::kRun ? run : baseline) + " is better";
  return fmt::format("{} against {}; {}; p = {}, {} with all tests counted in: {}", value(row.run),
                     value(row.baseline), difference_text(row), p_text(row.p_value),
                     p_text(row.p_holm), verdict);
}

}  // namespace kw::report
