// What commands need of the world: the gym, other programs, clocks. Interfaces, so that commands
// are tested without a process.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/gym.h"
#include "kernelwright/console.h"
#include "kernelwright/tools.h"
#include "link/child_program.h"
#include "prompt/hardware_card.h"
#include "sandbox/doctor.h"
#include "writer/graph/graph.h"

namespace kw::front {

// A gym as the command line uses it. Any thread may call.
class Judge {
 public:
  virtual ~Judge() = default;
  // Blocks until the verdict is there; kCancelled soon after a stop was requested.
  virtual Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) = 0;
  // The interface of a problem whose reference must run for it (modules).
  virtual Result<task::Signature> describe(const task::Problem& problem,
                                           const std::string& target) = 0;
  // The admission battery on the CPU, without a candidate.
  virtual Result<gym::ProblemCheck> check(const gym::CheckRequest& request,
                                          const std::stop_token& stop) = 0;
  // The reference's operators (docs/tracing.md); errors are those of gym::Gym::trace().
  virtual Result<writer::Graph> trace(const gym::TraceRequest& request,
                                      const std::stop_token& stop) = 0;
  // What a target can do here; kUnsupported for one that this build does not have.
  virtual Result<gym::Capabilities> capabilities(const std::string& target) = 0;
};

struct Services {
  Console& console;
  ToolRunner& tools;
  std::function<Result<std::unique_ptr<Judge>>(gym::GymOptions)> start_judge;
  std::function<Result<task::Verdict>(const std::filesystem::path& evidence)> rejudge;
  std::function<std::vector<sandbox::Finding>()> inspect_sandbox;
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<std::chrono::system_clock::time_point()> wall_time;  // of trace lines
  // This process becomes another program: returns only an error.
  std::function<Error(const std::vector<std::string>& argv)> become;
  std::function<Result<link::ChildProgram>(const std::vector<std::string>& argv)> start_program;
  std::vector<std::string> build_flags;  // of every cpp build, for prompts
  // Facts of this machine's CPU, for prompts; the threads are those that a kernel may use.
  std::function<prompt::HardwareCard(int threads)> cpu_card;
  std::filesystem::path program_folder, cache_folder, data_folder;
  std::stop_token stop;
};

}  // namespace kw::front
