// The commands of the group "service", and those of the group "eval" with --judge.
#pragma once
#include "kernelwright/command_group.h"

namespace kw::front {

CommandOutcome run_service_command(const Command& command, const Services& services);

}  // namespace kw::front
