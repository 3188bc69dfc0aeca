// Runs with their metrics and comparisons, and the three forms of them: JSON, text, one HTML page.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "report/comparison.h"
#include "report/metrics.h"
#include "report/run.h"

namespace kw::report {

struct MeasuredRun {
  Run run;
  Metrics metrics;
};

struct Report {
  BootstrapOptions options;
  std::vector<double> fast_p;  // ascending, 1 among them
  std::size_t baseline = 0;    // place of the run that the others are compared with
  std::vector<MeasuredRun> runs;
  std::vector<Comparison> comparisons;  // one for each other run
};

// baseline: a place in runs, which has one run or more. fast_p: for which p; 1 is added.
Report make_report(std::vector<Run> runs, std::size_t baseline, const BootstrapOptions& options,
                   std::span<const double> fast_p = kFastP);

// docs/report.md; schema docs/schemas/report.schema.json.
Json to_json(const Report& report);

// For a terminal: a table of the runs, then the comparisons.
std::string to_text(const Report& report);

// "a is better by ...", or that there is no winner.
std::string sentence(const MeasureComparison& row, const std::string& run,
                     const std::string& baseline);

// One file without outside resources and without script; whatever the runs contain is text in it.
std::string to_html(const Report& report);

}  // namespace kw::report
