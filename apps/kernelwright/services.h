// The world as commands need it: the gym, other programs, clocks. Interfaces, so that commands
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
#include "gym/judge.h"
#include "kernelwright/cli/service_address.h"
#include "kernelwright/console.h"
#include "kernelwright/tools.h"
#include "os/child_program.h"
#include "prompt/hardware_card.h"
#include "sandbox/doctor.h"

namespace kw::front {

struct Services {
  Console& console;
  ToolRunner& tools;
  std::function<Result<std::unique_ptr<gym::Judge>>(gym::GymOptions)> start_judge;
  // A service as a judge; empty in programs that have no client.
  std::function<Result<std::unique_ptr<gym::Judge>>(const ServiceAddress&)> connect_judge = {};
  std::function<Result<task::Verdict>(const std::filesystem::path& evidence)> rejudge;
  std::function<std::vector<sandbox::HealthCheck>()> inspect_sandbox, inspect_gpus;
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<std::chrono::system_clock::time_point()> wall_time;  // of trace lines
  // This process becomes another program: returns only an error.
  std::function<Error(const std::vector<std::string>& argv)> become;
  std::function<Result<os::ChildProgram>(const std::vector<std::string>& argv)> start_program;
  std::vector<std::string> build_flags;  // of every cpp build, for prompts
  // Facts of this machine's CPU, for prompts; the threads are those that a kernel may use.
  std::function<prompt::HardwareCard(int threads)> cpu_card;
  std::filesystem::path program_folder, cache_folder, data_folder;
  std::stop_token stop;
  // Calls this at every SIGHUP from now on, on a thread of its own; an empty function ends that.
  std::function<void(std::function<void()>)> on_hangup = [](auto&&) {};
};

}  // namespace kw::front
