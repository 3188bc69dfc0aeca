// The text of the sbatch files of kernelwright launch slurm (docs/launch.md).
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"
#include "kernelwright/cli/launch_options.h"

namespace kw::front {

// Files and folders as the nodes see them. What the functions name lies on the shared folder.
struct LaunchPaths {
  std::filesystem::path folder;   // absolute; all nodes share it
  std::filesystem::path program;  // kernelwright
  std::filesystem::path data;     // the server's tasks
  std::filesystem::path python;   // of the workers' gym; empty: what the nodes have

  std::filesystem::path address() const { return folder / "server.json"; }
  std::filesystem::path tokens() const { return folder / "tokens"; }  // of the server
  std::filesystem::path token() const { return folder / "token"; }    // of workers and clients
  std::filesystem::path logs() const { return folder / "logs"; }
};

// kInvalidArgument names the option whose word cannot stand in an sbatch file, or is none of
// Slurm's.
Status check_words(const LaunchSlurmCommand& command, const LaunchPaths& paths);

// The words passed check_words().
std::string server_script(const LaunchSlurmCommand& command, const LaunchPaths& paths);
std::string worker_script(const LaunchSlurmCommand& command, const LaunchPaths& paths);

}  // namespace kw::front
