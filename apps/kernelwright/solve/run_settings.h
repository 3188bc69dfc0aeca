// The command's settings in a run's run.toml, written and read.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kernelwright/cli/options.h"

namespace kw::front {

Json to_json(const SolveCommand& command);
Result<SolveCommand> solve_command_from_json(const Json& value, const std::string& where);

}  // namespace kw::front
