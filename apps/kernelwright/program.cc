// The real services.
#include "kernelwright/program.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "gym/compile/plan.h"
#include "gym/local_judge.h"
#include "kernelwright/cpu_card.h"
#include "kernelwright/gpu_checks.h"
#include "kernelwright/interrupt.h"
#include "kernelwright/run.h"
#include "os/file.h"
#include "sandbox/doctor.h"

namespace kw::front {
namespace {

// Returns only when the program could not be started.
Error become(const std::vector<std::string>& argv) {
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  return fail_errno(errno, "cannot start " + argv[0]).value();
}

}  // namespace

int run_program(int argc, char** argv, std::initializer_list<CommandGroup> groups) {
  Interrupt interrupt;
  TerminalConsole console;
  ProcessRunner tools;
  Services services{
      .console = console,
      .tools = tools,
      .start_judge = gym::start_local_judge,
      .rejudge = gym::rejudge,
      .inspect_sandbox =
          [] {
            return sandbox::inspect((os::program_folder() / "kernelwright-launcher").string());
          },
      .inspect_gpus = [] { return gpu_checks(cuda::list_devices(), cuda::device_state); },
      .now = std::chrono::steady_clock::now,
      .wall_time = std::chrono::system_clock::now,
      .become = become,
      .start_program = os::ChildProgram::start,
      .build_flags = gym::shown_cpp_flags(),
      .cpu_card = this_cpu,
      .program_folder = os::program_folder(),
      .cache_folder = os::cache_home(),
      .data_folder = os::data_home(),
      .stop = interrupt.token(),
      .on_hangup =
          [&interrupt](std::function<void()> call) { interrupt.on_hangup(std::move(call)); },
  };
  return run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), services,
             {groups.begin(), groups.size()});
}

}  // namespace kw::front
