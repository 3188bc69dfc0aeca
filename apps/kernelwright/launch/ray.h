// kernelwright launch ray: a server as a process of this machine; its workers and servers of a
// model as actors of a Ray cluster.
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

struct RayPrograms {
  std::filesystem::path script;        // ray_actors.py
  std::filesystem::path model_server;  // a program with serve-model
};

// The server, and the Python programs that keep the actors: one for workers, one for model servers.
Result<std::vector<KeptProcess>> ray_processes(const LaunchRayCommand& command,
                                               const LaunchPaths& paths,
                                               const RayPrograms& programs);

}  // namespace kw::front
