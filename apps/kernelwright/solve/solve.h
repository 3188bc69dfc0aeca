// kernelwright solve: a problem in, a fast kernel with evidence out.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// The exit code: 0 every problem has a correct kernel, 1 one has none, 2 one could not be searched
// or judged to its end.
Result<int> run_solve(SolveCommand command, const Services& services);

}  // namespace kw::front
