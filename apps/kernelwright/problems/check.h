// kernelwright problems check: the admission battery over somebody's problems.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// The exit code: 0 all admitted, 1 some are not, 2 something could not be checked because we
// failed.
Result<int> run_problems_check(const ProblemsCheckCommand& command, const Services& services);

}  // namespace kw::front
