// kernelwright data export: a folder that others can load, with a data card.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_export(const DataExportCommand& command, const Services& services);

}  // namespace kw::front
