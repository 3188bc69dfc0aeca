// kernelwright data filter: every sample's answer through the gym.
#pragma once
#include "base/result.h"
#include "data_options.h"
#include "services.h"

namespace kw::front {

Result<int> run_data_filter(const DataFilterCommand& command, const Services& services);

}  // namespace kw::front
