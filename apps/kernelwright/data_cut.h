// kernelwright data dedup, decontaminate, split, stats: what is taken out of data sets, and how
// they are cut and counted.
#pragma once
#include "base/result.h"
#include "data_options.h"
#include "services.h"

namespace kw::front {

Result<int> run_data_dedup(const DataDedupCommand& command, const Services& services);
Result<int> run_data_decontaminate(const DataDecontaminateCommand& command,
                                   const Services& services);
Result<int> run_data_split(const DataSplitCommand& command, const Services& services);
Result<int> run_data_stats(const DataStatsCommand& command, const Services& services);

}  // namespace kw::front
