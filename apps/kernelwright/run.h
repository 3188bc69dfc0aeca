// From words to an exit code: parses, runs the command, prints errors in one form.
#pragma once
#include <string>
#include <vector>

#include "kernelwright/services.h"

namespace kw::front {

// 0 fine, 1 a candidate failed, 2 we failed, 3 the isolation asked for is not available here, 130
// interrupted. docs/cli.md
int run(const std::vector<std::string>& arguments, const Services& services);

}  // namespace kw::front
