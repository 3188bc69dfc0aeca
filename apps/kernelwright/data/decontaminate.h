// kernelwright data decontaminate: what shows a benchmark's problems is taken out.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_decontaminate(const DataDecontaminateCommand& command,
                                   const Services& services);

}  // namespace kw::front
