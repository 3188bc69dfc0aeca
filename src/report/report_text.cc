// For a terminal: a block a run, then the comparisons.
#include <algorithm>

#include "base/text.h"
#include "report/format.h"
#include "report/report.h"

namespace kw::report {
namespace {

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<12} {}\n", label, text);
}

std::string shares(const Metrics& m) {
  std::string out = line("correct", share_text(m.correctness));
  for (const FastP& row : m.fast_p) {
    out +=
        line(fmt::format("fast_{:g}", row.p),
             fmt::format("{}; surely {}{}", share_text(row.median), share_text(row.low),
                         row.of_correct && m.correctness.value < 1
                             ? fmt::format("; of correct ones {}", percent(row.of_correct->value))
                             : ""));
  }
  for (const PassAtK& row : m.pass_at_k) {
    std::string note =
        row.short_problems > 0
            ? fmt::format("; {} of {} problems have fewer attempts", row.short_problems, m.problems)
            : "";
    out += line(fmt::format("pass@{}", row.k), share_text(row.value) + note);
  }
  return out;
}

std::string speedups(const Metrics& m) {
  const auto& of_correct = m.geometric_mean.correct;
  std::string text = of_correct ? fmt::format("{} of the {} timed correct ones",
                                              factor_text(*of_correct), m.geometric_mean.timed)
                                : "no timed correct kernel";
  std::string out =
      line("speedup", text) + line("", fmt::format("{} of all, failures as 1x",
                                                   factor_text(m.geometric_mean.with_failures)));
  if (m.speedup_quartiles) out += line("quartiles", quartiles_text(*m.speedup_quartiles));
  for (const WinAtP& row : m.win_at_p)
    out += line(fmt::format("win@{:g}", row.p), share_text(row.value) + " of workloads");
  return out;
}

// Of attempts that were made from others.
std::string turns(const Metrics& m) {
  std::string out;
  if (m.last_attempt) {
    std::string text = share_text(m.last_attempt->correctness) + " correct";
    for (const auto& [p, value] : m.last_attempt->fast_p)
      text += fmt::format("; fast_{:g} {}", p, percent(value.value));
    out += line("last attempt", text);
  }
  if (m.refinement) out += line("refinement", refinement_text(*m.refinement));
  return out;
}

constexpr std::size_t kMaxReasons = 8;  // shown of each list

std::string reasons(std::string_view label, const Counts& counts) {
  std::string out;
  for (std::size_t i = 0; i < std::min(counts.size(), kMaxReasons); ++i) {
    out += line(i == 0 ? label : "",
                fmt::format("{:>5}  {}", counts[i].second, printable(counts[i].first, 200)));
  }
  if (counts.size() > kMaxReasons)
    out += line("", fmt::format("       {} more reasons, in --json", counts.size() - kMaxReasons));
  return out;
}

// What the speedups are measured on and over, as far as the file says it.
std::string measured_on(const Run& run) {
  std::string out;
  if (!run.baseline.empty()) out += line("baseline", printable(run.baseline, 200));
  if (!run.target.empty()) out += line("target", printable(run.target, 200));
  if (!run.hardware.empty()) out += line("hardware", printable(run.hardware, 200));
  return out;
}

std::string block(const MeasuredRun& measured) {
  const auto& [run, m] = measured;
  std::string out = fmt::format("{}  {}{}\n", printable(run.name, 200), printable(run.path, 1000),
                                run.finished ? "" : "  (not finished)");
  out += measured_on(run);
  out += line("problems", fmt::format("{}, {} without an attempt", m.problems, m.unattempted));
  out += line("attempts", count_text(m));
  std::vector<std::string> outcomes;
  for (const auto& [name, count] : m.outcomes)
    outcomes.push_back(fmt::format("{} {}", printable(name, 60), count));
  out += line("outcomes", outcomes.empty() ? "none" : join(outcomes, ", "));
  out += reasons("failures", m.failures) + reasons("given up", m.given_up);
  out += shares(m) + speedups(m) + turns(m);
  for (const std::string& note : run.notes) out += line("note", printable(note, 1000));
  return out + "\n";
}

std::string block(const Comparison& comparison, const Report& report) {
  std::string run = printable(report.runs[comparison.run].run.name, 200);
  std::string baseline = printable(report.runs[comparison.baseline].run.name, 200);
  std::string out = fmt::format("{} against {}, {}\n", run, baseline, pairing_text(comparison));
  for (const std::string& warning : comparison.warnings) out += line("warning", warning);
  for (const MeasureComparison& row : comparison.measures)
    out += line(to_string(row.measure), sentence(row, run, baseline));
  return out + "\n";
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out;
  for (const MeasuredRun& run : report.runs) out += block(run);
  for (const Comparison& comparison : report.comparisons) out += block(comparison, report);
  out +=
      fmt::format("{:g} % intervals: bootstrap over problems (BCa, {} resamples, seed {})\n",
                  100 * report.options.confidence, report.options.resamples, report.options.seed);
  return out;
}

}  // namespace kw::report
