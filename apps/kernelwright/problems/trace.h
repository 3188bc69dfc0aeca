// kernelwright problems trace.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Prints the operators of a problem's reference, as text or as JSON of docs/formats/graph.md.
Result<int> run_problems_trace(const ProblemsTraceCommand& command, const Services& services);

}  // namespace kw::front
