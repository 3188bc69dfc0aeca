// kernelwright data split: a data set cut into parts with held-out sets.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_split(const DataSplitCommand& command, const Services& services);

}  // namespace kw::front
