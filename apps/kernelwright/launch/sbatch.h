// The text of the sbatch files of kernelwright launch slurm (docs/launch.md).
#pragma once
#include <string>

#include "base/result.h"
#include "kernelwright/cli/launch_options.h"
#include "kernelwright/launch/launch_folder.h"

namespace kw::front {

// kInvalidArgument names the option whose word cannot stand in an sbatch file, or is none of
// Slurm's.
Status check_words(const LaunchSlurmCommand& command, const LaunchPaths& paths);

// The words passed check_words().
std::string server_script(const LaunchSlurmCommand& command, const LaunchPaths& paths);
std::string worker_script(const LaunchSlurmCommand& command, const LaunchPaths& paths);
// It is written where the command has a model.
std::string model_script(const LaunchSlurmCommand& command, const LaunchPaths& paths);

}  // namespace kw::front
