// The command line's grammar: the only place that knows CLI11.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "kernelwright/cli/options.h"

namespace kw::front {

// arguments: without the program's name. kInvalidArgument for an unknown command, flag or value,
// with a suggestion where one is near.
Result<Command> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace kw::front
