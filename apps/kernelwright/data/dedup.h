// kernelwright data dedup: what says the same as an earlier sample is taken out.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_dedup(const DataDedupCommand& command, const Services& services);

}  // namespace kw::front
