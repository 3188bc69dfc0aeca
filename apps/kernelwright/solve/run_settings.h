// What a run's run.toml holds of the command, and back.
#pragma once
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kernelwright/cli/options.h"

namespace kw::front {

Json to_json(const SolveCommand& command);
Result<SolveCommand> solve_command_from_json(const Json& value, const std::string& where);

}  // namespace kw::front
