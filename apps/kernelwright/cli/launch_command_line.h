// The part of the grammar that starts a server and its workers.
#pragma once
#include "kernelwright/cli/command_line_parts.h"

namespace kw::front {

struct LaunchCommands {
  LaunchLocalCommand local;
  LaunchSlurmCommand slurm;
  LaunchRayCommand ray;
};

void add_launch_group(CLI::App& launch, LaunchCommands& commands, const AddCommand& add);
// Checks the ranges.
Status finish(const LaunchCommands& commands);

}  // namespace kw::front
