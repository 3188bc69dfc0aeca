// Numbers: overview, comparison, problems.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "report/format.h"
#include "report/html.h"
#include "report/page_parts.h"

namespace kw::report {
namespace {

constexpr std::string_view kOpenTable = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" ";

std::string open_table(std::string_view label) {
  return fmt::format("{}aria-label=\"{}\"><table>", kOpenTable, label);
}

std::string run_headers(const Report& report) {
  std::string out = "<thead><tr><th scope=\"col\"><span class=\"soft\">Measure</span></th>";
  for (const MeasuredRun& run : report.runs)
    out += fmt::format("<th scope=\"col\">{}</th>", bounded(run.run.name, 60));
  return out + "</tr></thead>\n";
}

template <typename Cell>
std::string row(const Report& report, const std::string& label, Cell cell) {
  std::string out = "<tr><th scope=\"row\">" + escape(label) + "</th>";
  for (const MeasuredRun& run : report.runs) out += "<td>" + escape(cell(run)) + "</td>";
  return out + "</tr>\n";
}

// "42.5 %" large, its interval below.
std::string headline(std::string_view label, const std::string& value, const std::string& whole) {
  std::string range = whole.size() > value.size() ? whole.substr(value.size() + 1) : "";
  return fmt::format(
      "<div><dt>{}</dt><dd><span class=\"big\">{}</span><span class=\"range\">{}</span></dd></div>",
      label, value, range);
}

std::string card(const MeasuredRun& measured, std::size_t place) {
  const auto& [run, m] = measured;
  const Estimate& fast_1 = std::find_if(m.fast_p.begin(), m.fast_p.end(), [](const FastP& f) {
                             return f.p == 1;
                           })->median;
  const Estimate& mean = m.geometric_mean.with_failures;
  std::string out =
      fmt::format("<article class=\"card k{}\"><h3>{}</h3><dl>", place % 6, bounded(run.name, 80));
  out += headline("correct", percent(m.correctness.value), share_text(m.correctness));
  out += headline("faster (fast_1)", percent(fast_1.value), share_text(fast_1));
  out += headline("speedup, failures 1x", factor(mean.value), factor_text(mean));
  out += fmt::format("</dl><p class=\"note\">{} problems, {} without an attempt; attempts: {}</p>",
                     m.problems, m.unattempted, escape(count_text(m)));
  if (!run.finished) out += "<p class=\"note\">The run is not finished.</p>";
  return out + "</article>\n";
}

std::string shares_rows(const Report& report) {
  std::string out = row(report, "correct",
                        [](const MeasuredRun& run) { return share_text(run.metrics.correctness); });
  for (std::size_t i = 0; i < report.fast_p.size(); ++i) {
    out += row(report, fmt::format("fast_{:g}", report.fast_p[i]),
               [&](const MeasuredRun& run) { return share_text(run.metrics.fast_p[i].median); });
    out += row(report, fmt::format("fast_{:g}, surely", report.fast_p[i]),
               [&](const MeasuredRun& run) { return share_text(run.metrics.fast_p[i].low); });
    out += row(report, fmt::format("fast_{:g} of correct ones", report.fast_p[i]),
               [&](const MeasuredRun& run) {
                 const auto& value = run.metrics.fast_p[i].of_correct;
                 return value ? share_text(*value) : std::string("none is correct");
               });
  }
  return out;
}

std::string pass_rows(const Report& report) {
  std::vector<std::int64_t> ks;
  for (const MeasuredRun& run : report.runs) {
    for (const PassAtK& pass : run.metrics.pass_at_k) ks.push_back(pass.k);
  }
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  std::string out;
  for (std::int64_t k : ks) {
    out += row(report, fmt::format("pass@{}", k), [&](const MeasuredRun& run) -> std::string {
      for (const PassAtK& pass : run.metrics.pass_at_k) {
        if (pass.k != k) continue;
        std::string text = share_text(pass.value);
        return pass.short_problems == 0
                   ? text
                   : fmt::format("{}; {} problems with fewer", text, pass.short_problems);
      }
      return run.run.independent ? "not measured" : "attempts are not independent";
    });
  }
  return out;
}

// Rows that only some kinds of runs have: none where no run has them.
std::string turn_rows(const Report& report) {
  const auto any = [&](auto has) {
    return std::any_of(report.runs.begin(), report.runs.end(),
                       [&](const MeasuredRun& run) { return has(run.metrics); });
  };
  std::string out;
  if (any([](const Metrics& m) { return m.last_attempt.has_value(); })) {
    const std::string none = "no attempt was made from another";
    out += row(report, "last attempt correct", [&](const MeasuredRun& run) {
      const auto& last = run.metrics.last_attempt;
      return last ? share_text(last->correctness) : none;
    });
    for (std::size_t i = 0; i < report.fast_p.size(); ++i)
      out += row(report, fmt::format("last attempt fast_{:g}", report.fast_p[i]),
                 [&](const MeasuredRun& run) {
                   const auto& last = run.metrics.last_attempt;
                   return last ? share_text(last->fast_p[i].second) : none;
                 });
    out += row(report, "refinement", [&](const MeasuredRun& run) {
      return run.metrics.refinement ? refinement_text(*run.metrics.refinement) : none;
    });
  }
  if (any([](const Metrics& m) { return !m.win_at_p.empty(); })) {
    for (std::size_t i = 0; i < report.fast_p.size(); ++i)
      out += row(report, fmt::format("win@{:g}, of workloads", report.fast_p[i]),
                 [&](const MeasuredRun& run) {
                   const auto& wins = run.metrics.win_at_p;
                   return wins.empty() ? std::string("not measured") : share_text(wins[i].value);
                 });
  }
  return out;
}

std::string other_rows(const Report& report) {
  std::string out = row(report, "speedup of correct ones", [](const MeasuredRun& run) {
    const GeometricMean& mean = run.metrics.geometric_mean;
    return mean.correct ? fmt::format("{}, n = {}", factor_text(*mean.correct), mean.timed)
                        : std::string("none");
  });
  out += row(report, "speedup, failures as 1x", [](const MeasuredRun& run) {
    return factor_text(run.metrics.geometric_mean.with_failures);
  });
  out += row(report, "quartiles of speedups", [](const MeasuredRun& run) {
    const auto& quartiles = run.metrics.speedup_quartiles;
    return quartiles ? quartiles_text(*quartiles) : std::string("none");
  });
  out += row(report, "attempts", [](const MeasuredRun& run) { return count_text(run.metrics); });
  out += row(report, "tokens read, written", [](const MeasuredRun& run) -> std::string {
    const Spent& spent = run.metrics.spent;
    if (spent.tokens() == 0) return "none";
    return short_count(spent.prompt_tokens) + ", " + short_count(spent.completion_tokens);
  });
  out += row(report, "cost", [](const MeasuredRun& run) -> std::string {
    const double cost = run.metrics.spent.cost_usd;
    return cost > 0 ? fmt::format("${:.2f}", cost) : "not known";
  });
  return out;
}

std::string comparison_row(const MeasureComparison& measure, const std::string& run,
                           const std::string& baseline) {
  bool ratio = measure.measure == Measure::kGeometricMean;
  std::string winner =
      measure.winner == Winner::kNone
          ? "no winner: inside the noise"
          : fmt::format("<span class=\"win\">{}</span>",
                        bounded(measure.winner == Winner::kRun ? run : baseline, 60));
  auto value = [&](double v) { return ratio ? factor(v) : percent(v); };
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      ratio ? "speedup, failures as 1x" : to_string(measure.measure), value(measure.run),
      value(measure.baseline), escape(difference_text(measure)),
      fmt::format("{}; {}", p_text(measure.p_value), p_text(measure.p_holm)), winner);
}

std::string best_cell(const ProblemRecord& problem, std::size_t run, std::size_t place) {
  std::string text;
  if (const Attempt* best = best_attempt(problem)) {
    text = best->speedup ? escape(speedup_text(*best->speedup)) : "correct, not timed";
  } else if (problem.attempts.empty()) {
    return problem.failure.empty() ? "no attempt" : bounded(problem.failure, 120);
  } else {
    auto furthest = std::max_element(
        problem.attempts.begin(), problem.attempts.end(),
        [](const Attempt& a, const Attempt& b) { return a.progress < b.progress; });
    text = badge(*furthest);
  }
  return fmt::format("<a href=\"#{}\">{}</a>", attempts_anchor(run, place), text);
}

}  // namespace

std::string overview_section(const Report& report) {
  std::string out = "<section id=\"overview\"><h2>Overview</h2>\n<div class=\"cards\">\n";
  for (std::size_t i = 0; i < report.runs.size(); ++i) out += card(report.runs[i], i);
  out += "</div>\n<details" + std::string(report.runs.size() > 1 ? " open" : "") +
         "><summary>All numbers side by side</summary>" + open_table("All numbers side by side") +
         fmt::format("<caption>n is all problems asked; {:g} % intervals over problems</caption>\n",
                     100 * report.options.confidence) +
         run_headers(report) + "<tbody>\n" + shares_rows(report) + pass_rows(report) +
         turn_rows(report) + other_rows(report) + "</tbody></table></div></details>\n";
  for (const MeasuredRun& run : report.runs) {
    for (const std::string& note : run.run.notes)
      out += fmt::format("<p class=\"note\">{}: {}</p>\n", bounded(run.run.name, 80),
                         bounded(note, 1000));
  }
  return out + "</section>\n";
}

std::string comparison_section(const Report& report) {
  if (report.comparisons.empty()) return "";
  std::string out =
      "<section id=\"comparison\"><h2>Comparison</h2>\n<p>Problem by problem, over the problems "
      "that both runs were asked. A winner is named only where the difference is outside the "
      "noise.</p>\n";
  for (const Comparison& comparison : report.comparisons) {
    const std::string& run = report.runs[comparison.run].run.name;
    const std::string& baseline = report.runs[comparison.baseline].run.name;
    out += fmt::format("<h3>{} against {}</h3>\n<p class=\"note\">{}.</p>\n", bounded(run, 80),
                       bounded(baseline, 80), escape(pairing_text(comparison)));
    for (const std::string& warning : comparison.warnings)
      out += "<p class=\"warning\">" + bounded(warning, 1000) + "</p>\n";
    out += open_table("Comparison") +
           fmt::format(
               "<thead><tr><th scope=\"col\">Measure</th><th scope=\"col\">{}</th><th "
               "scope=\"col\">{}</th><th scope=\"col\">Difference</th><th "
               "scope=\"col\">p; with all tests counted in</th><th "
               "scope=\"col\">Better</th></tr></thead><tbody>\n",
               bounded(run, 60), bounded(baseline, 60));
    for (const MeasureComparison& measure : comparison.measures)
      out += comparison_row(measure, run, baseline);
    out += "</tbody></table></div>\n";
  }
  return out + "</section>\n";
}

std::string problems_section(const Report& report) {
  // Rows in the order of the first run that has them.
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::size_t>> places(report.runs.size());
  std::set<std::string> known;
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const auto& problems = report.runs[r].run.problems;
    for (std::size_t p = 0; p < problems.size(); ++p) {
      places[r][problems[p].name] = p;
      if (known.insert(problems[p].name).second) names.push_back(problems[p].name);
    }
  }
  std::string out =
      "<section id=\"problems\"><h2>Problems</h2>\n" + open_table("Best of each problem") +
      "<caption>The best of each problem: speedup with its 95 % interval, or how far the "
      "furthest attempt came</caption><thead><tr><th scope=\"col\">Problem</th>";
  for (const MeasuredRun& run : report.runs)
    out += fmt::format("<th scope=\"col\">{}</th>", bounded(run.run.name, 60));
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxProblems); ++i) {
    out += "<tr><th scope=\"row\">" + bounded(names[i], 120) + "</th>";
    for (std::size_t r = 0; r < report.runs.size(); ++r) {
      auto place = places[r].find(names[i]);
      out += "<td>" +
             (place == places[r].end()
                  ? "not asked"
                  : best_cell(report.runs[r].run.problems[place->second], r, place->second)) +
             "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (names.size() > kMaxProblems)
    out += fmt::format(
        "<p class=\"note\">{} more problems are left out here; they are in --json "
        "and in all numbers.</p>\n",
        names.size() - kMaxProblems);
  return out + "</section>\n";
}

}  // namespace kw::report
