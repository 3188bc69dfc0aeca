// kernelwright launch ray: a server as a process of this machine, its workers as actors of a Ray
// cluster.
#pragma once
#include <filesystem>
#include <vector>

#include "kernelwright/cli/launch_options.h"
#include "kernelwright/launch/kept_processes.h"
#include "kernelwright/launch/launch_folder.h"
#include "kernelwright/services.h"

namespace kw::front {

// Until it is asked to stop. kUnsupported when the Python has no Ray or reaches no cluster.
Result<int> run_launch_ray(const LaunchRayCommand& command, const Services& services);

// The server, and the Python program that keeps the actors. script: ray_workers.py.
Result<std::vector<KeptProcess>> ray_processes(const LaunchRayCommand& command,
                                               const LaunchPaths& paths,
                                               const std::filesystem::path& script);

}  // namespace kw::front
