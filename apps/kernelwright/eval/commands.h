// The commands of the group "eval".
#pragma once
#include "kernelwright/command_group.h"

namespace kw::front {

// nullopt for a command of another group.
CommandOutcome run_eval_command(const Command& command, const Services& services);

}  // namespace kw::front
