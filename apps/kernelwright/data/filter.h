// kernelwright data filter: every sample's answer through the gym.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_filter(const DataFilterCommand& command, const Services& services);

}  // namespace kw::front
