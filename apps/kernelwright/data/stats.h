// kernelwright data stats: what a data set is made of.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_stats(const DataStatsCommand& command, const Services& services);

}  // namespace kw::front
