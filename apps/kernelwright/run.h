// From words to an exit code: parses, runs the command, prints errors in one form.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kernelwright/command_group.h"
#include "kernelwright/services.h"

namespace kw::front {

// groups: the commands that this program has itself. For any other command the process becomes the
// program that has it (services.become, with the same arguments); where that program is not built,
// the error says how to build it. 0 fine, 1 a candidate failed, 2 we failed, 3 the isolation asked
// for is not available here, 130 interrupted. docs/cli.md
int run(const std::vector<std::string>& arguments, const Services& services,
        std::span<const CommandGroup> groups);

}  // namespace kw::front
