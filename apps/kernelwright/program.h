// The common part of the mains of the front programs.
#pragma once
#include <initializer_list>

#include "kernelwright/command_group.h"

namespace kw::front {

// Runs the command line with this machine's gym, clocks, programs and folders. Ctrl-C stops it.
// Returns the exit code.
int run_program(int argc, char** argv, std::initializer_list<CommandGroup> groups);

}  // namespace kw::front
