// Putting a report together.
#include "report/report.h"

namespace kw::report {

Report make_report(std::vector<Run> runs, std::size_t baseline, const BootstrapOptions& options) {
  Report out;
  out.options = options;
  out.baseline = baseline;
  for (Run& run : runs) {
    Metrics metrics = measure(run, options);
    out.runs.push_back({std::move(run), std::move(metrics)});
  }
  for (std::size_t i = 0; i < out.runs.size(); ++i) {
    if (i == baseline) continue;
    Comparison comparison = compare(out.runs[i].run, out.runs[baseline].run, options);
    comparison.run = i;
    comparison.baseline = baseline;
    out.comparisons.push_back(std::move(comparison));
  }
  name_winners(out.comparisons, options.confidence);
  return out;
}

}  // namespace kw::report
