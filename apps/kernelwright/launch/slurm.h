// kernelwright launch slurm: a server and its workers as jobs of a cluster.
#pragma once
#include "kernelwright/cli/launch_options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Writes the files and submits them.
Result<int> run_launch_slurm(const LaunchSlurmCommand& command, const Services& services);

}  // namespace kw::front
