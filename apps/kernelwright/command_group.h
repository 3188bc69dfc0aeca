// Commands come in groups, and each group is a library and a program of its own: judging needs
// neither the engine's client nor the kernel writer, so a first `eval` does not wait for them to be
// built.
//
// Every program reads the whole grammar (cli/), so help and suggestions are the same everywhere. A
// program that does not have the command's group becomes the program that has it.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// The exit code or error of a command; nullopt when the command belongs to another group.
using CommandOutcome = std::optional<Result<int>>;
using CommandGroup = CommandOutcome (*)(const Command& command, const Services& services);

// The program that has the command's group: "kernelwright", "kernelwright-solve",
// "kernelwright-data", ...
std::string program_of(const Command& command);

}  // namespace kw::front
