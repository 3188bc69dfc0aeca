// Counts over a data set as a page.
#pragma once
#include <string>

#include "data/stats.h"
#include "report/distribution_page.h"

namespace kw::front {

report::DistributionPage stats_page(const data::Stats& stats, const std::string& name);

}  // namespace kw::front
