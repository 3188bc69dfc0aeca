// Curves, failure modes.
#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/format.h"
#include "report/html.h"
#include "report/page_parts.h"

namespace kw::report {
namespace {

template <typename Value>
Chart by_attempt(const Report& report, Value value) {
  Chart chart;
  chart.x_label = "attempts of each problem";
  chart.x_is_whole = true;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    Series series;
    series.name = report.runs[i].run.name;
    series.colour = i;
    for (const BestSoFar& step : report.runs[i].metrics.best_so_far)
      series.points.emplace_back(static_cast<double>(step.attempt),
                                 value(step, report.runs[i].metrics));
    chart.series.push_back(std::move(series));
  }
  return chart;
}

double share_of(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string solved_chart(const Report& report) {
  Chart chart = by_attempt(report, [](const BestSoFar& step, const Metrics& m) {
    return share_of(step.solved, m.problems);
  });
  chart.id = "solved";
  chart.title = "Best so far: correct";
  chart.description = "Share of problems with a correct kernel among the first attempts.";
  return line_chart(chart);
}

std::string speedup_chart(const Report& report) {
  Chart chart =
      by_attempt(report, [](const BestSoFar& step, const Metrics&) { return step.geometric_mean; });
  chart.id = "speedup";
  chart.title = "Best so far: speedup";
  chart.description = "Geometric mean over all problems, 1x where there is no correct kernel yet.";
  chart.y_is_share = false;
  return line_chart(chart);
}

// The share of problems over p falls at each problem's best speedup.
Series fast_p_series(const MeasuredRun& measured, bool low, double from, double to) {
  std::vector<double> speedups;
  for (const ProblemRecord& problem : measured.run.problems) {
    const Attempt* best = best_attempt(problem);
    if (best == nullptr || !best->speedup) continue;
    double value = low ? best->speedup->low.value_or(0) : best->speedup->median;
    if (value > from) speedups.push_back(value);
  }
  std::sort(speedups.begin(), speedups.end());
  Series out;
  out.thin = low;
  out.name = measured.run.name + (low ? ", surely" : "");
  auto left = static_cast<std::int64_t>(speedups.size());
  out.points.emplace_back(from, share_of(left, measured.metrics.problems));
  for (double speedup : speedups) {
    --left;
    out.points.emplace_back(std::min(speedup, to), share_of(left, measured.metrics.problems));
  }
  if (speedups.empty() || speedups.back() < to) out.points.emplace_back(to, 0);
  return out;
}

std::string fast_p_chart(const Report& report) {
  double most = 2;
  for (const MeasuredRun& measured : report.runs) {
    for (const ProblemRecord& problem : measured.run.problems) {
      if (auto log = log_speedup(problem)) most = std::max(most, std::exp(*log));
    }
  }
  double to = std::exp2(std::ceil(std::log2(std::min(most, 1024.0))));
  Chart chart;
  chart.id = "fast-p";
  chart.title = "fast_p against p";
  chart.description =
      "Share of all problems whose best correct kernel is more than p times as fast as the "
      "baseline; dotted: by the lower end of its interval.";
  chart.x_label = "p";
  chart.x_is_log = chart.steps = true;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    for (bool low : {false, true}) {
      chart.series.push_back(fast_p_series(report.runs[i], low, 0.25, to));
      chart.series.back().colour = i;
    }
  }
  return line_chart(chart);
}

// Solved problems by what had been spent: money, tokens or seconds, whichever the runs have.
std::string cost_chart(const Report& report) {
  auto any = [&](auto spent) {
    return std::any_of(report.runs.begin(), report.runs.end(),
                       [&](const MeasuredRun& run) { return spent(run.metrics); });
  };
  bool tokens = any([](const Metrics& m) { return m.spent.tokens() > 0; });
  bool money = any([](const Metrics& m) { return m.spent.cost_usd > 0; });
  if (!tokens && !money && !any([](const Metrics& m) { return m.spent.seconds > 0; })) return "";
  Chart chart;
  chart.id = "cost";
  chart.title = money ? "Correct by cost" : tokens ? "Correct by tokens" : "Correct by time";
  chart.description =
      "Share of problems with a correct kernel against what each problem had cost "
      "on average by then.";
  chart.x_label = money    ? "US cents a problem"
                  : tokens ? "tokens a problem, read and written"
                           : "seconds a problem, generating and judging";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const Metrics& m = report.runs[i].metrics;
    Series series;
    series.name = report.runs[i].run.name;
    series.colour = i;
    for (const BestSoFar& step : m.best_so_far) {
      double spent = money    ? 100 * step.spent.cost_usd
                     : tokens ? static_cast<double>(step.spent.tokens())
                              : step.spent.seconds;
      series.points.emplace_back(spent / static_cast<double>(m.problems),
                                 share_of(step.solved, m.problems));
    }
    chart.series.push_back(std::move(series));
  }
  return line_chart(chart);
}

// A row a reason, most frequent in the first run first; the last one counts what is not shown.
template <typename CountsOf, typename SumOf>
std::string counts_table(const Report& report, std::string_view caption, std::string_view heading,
                         CountsOf counts_of, SumOf sum_of) {
  constexpr std::size_t kMaxReasons = 40;
  std::vector<std::string> names;
  for (const MeasuredRun& run : report.runs) {
    for (const auto& [name, count] : counts_of(run.metrics)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  if (names.empty()) return "";
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>"
      "<caption>{}</caption><thead><tr><th scope=\"col\">{}</th>",
      heading, caption, heading);
  for (const MeasuredRun& run : report.runs)
    out += fmt::format("<th scope=\"col\">{}</th>", bounded(run.run.name, 60));
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxReasons); ++i) {
    out += "<tr><th scope=\"row\">" + bounded(names[i], 200) + "</th>";
    for (const MeasuredRun& run : report.runs) {
      std::int64_t count = 0;
      for (const auto& [known, number] : counts_of(run.metrics)) {
        if (known == names[i]) count = number;
      }
      out += fmt::format("<td>{} ({})</td>", count, percent(share_of(count, sum_of(run.metrics))));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (names.size() > kMaxReasons)
    out += fmt::format("<p class=\"note\">{} more are left out here; they are in --json.</p>\n",
                       names.size() - kMaxReasons);
  return out;
}

std::string reason_tables(const Report& report) {
  auto attempts = [](const Metrics& m) { return m.attempts; };
  return counts_table(
             report, "Attempts by outcome", "Outcome",
             [](const Metrics& m) -> const Counts& { return m.outcomes; }, attempts) +
         counts_table(
             report, "Attempts that are not correct, by reason", "Reason",
             [](const Metrics& m) -> const Counts& { return m.failures; }, attempts) +
         counts_table(
             report, "Problems that ended for another reason than their attempts", "Given up",
             [](const Metrics& m) -> const Counts& { return m.given_up; },
             [](const Metrics& m) { return m.problems; });
}

}  // namespace

std::string curves_section(const Report& report) {
  return "<section id=\"curves\"><h2>Curves</h2>\n<div class=\"charts\">\n" + solved_chart(report) +
         speedup_chart(report) + fast_p_chart(report) + cost_chart(report) + "</div></section>\n";
}

std::string failures_section(const Report& report) {
  std::vector<Bar> bars;
  for (const MeasuredRun& run : report.runs) {
    bars.push_back({fmt::format("{} ({} attempts)", run.run.name, run.metrics.attempts),
                    {run.metrics.reached.begin(), run.metrics.reached.end()}});
  }
  return "<section id=\"failures\"><h2>Failures</h2>\n<div class=\"charts\">\n" +
         stacked_bars("stages", "Where attempts ended",
                      "Share of the attempts of each run that ended at each stage.",
                      {"no code", "does not compile", "fails while running", "wrong shape or dtype",
                       "wrong values", "correct"},
                      bars) +
         "<div>" + reason_tables(report) + "</div></div></section>\n";
}

}  // namespace kw::report
