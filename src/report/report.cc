// Putting a report together.
#include "report/report.h"

#include <set>

namespace kw::report {

Report make_report(std::vector<Run> runs, std::size_t baseline, const BootstrapOptions& options,
                   std::span<const double> fast_p) {
  Report out;
  out.options = options;
  std::set<double> chosen(fast_p.begin(), fast_p.end());
  chosen.insert(1);  // the page's headline
  out.fast_p.assign(chosen.begin(), chosen.end());
  out.baseline = baseline;
  for (Run& run : runs) {
    Metrics metrics = measure(run, options, out.fast_p);
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
