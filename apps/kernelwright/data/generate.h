// kernelwright data generate.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Writes a file of samples; goes on with an interrupted one.
Result<int> run_data_generate(const DataGenerateCommand& command, const Services& services);

}  // namespace kw::front
