// kernelwright data dedup, decontaminate, split: what is taken out of data sets, and how they are
// cut.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_dedup(const DataDedupCommand& command, const Services& services);
Result<int> run_data_decontaminate(const DataDecontaminateCommand& command,
                                   const Services& services);
Result<int> run_data_split(const DataSplitCommand& command, const Services& services);

}  // namespace kw::front
