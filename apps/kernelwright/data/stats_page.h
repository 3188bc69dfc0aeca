// Counts over a data set as a page.
#pragma once
#include <optional>
#include <string>

#include "data/removal_stats.h"
#include "data/stats.h"
#include "report/distribution_page.h"

namespace kw::front {

struct StatsOfData {
  data::Stats samples;
  std::optional<data::DedupRemovals> dedup;  // where a file of these was named
  std::optional<data::BenchmarkRemovals> benchmarks;
};
report::DistributionPage stats_page(const StatsOfData& all, const std::string& name);

}  // namespace kw::front
