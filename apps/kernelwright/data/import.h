// kernelwright data import: other people's data sets as samples.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

// A row that is no sample is told and counted. 0; kInvalidArgument when no row is one.
Result<int> run_data_import(const DataImportCommand& command, const Services& services);

}  // namespace kw::front
