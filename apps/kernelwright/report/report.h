// kernelwright report: the numbers of runs, on the terminal, as JSON, as a page.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_report(const ReportCommand& command, const Services& services);

}  // namespace kw::front
