// kernelwright: the front program. It links no torch and starts in milliseconds.
#include <string>
#include <vector>

#include "gym/compile/plan.h"
#include "kernelwright/cpu_card.h"
#include "kernelwright/gym_judge.h"
#include "kernelwright/interrupt.h"
#include "kernelwright/model/generate.h"
#include "kernelwright/run.h"
#include "os/file.h"
#include "sandbox/doctor.h"

int main(int argc, char** argv) {
  using namespace kw;  // NOLINT(google-build-using-namespace): main only
  front::Interrupt interrupt;
  front::TerminalConsole console;
  front::ProcessRunner tools;
  front::Services services{
      .console = console,
      .tools = tools,
      .start_judge = front::start_gym_judge,
      .rejudge = gym::rejudge,
      .inspect_sandbox =
          [] {
            return sandbox::inspect((os::program_folder() / "kernelwright-launcher").string());
          },
      .now = std::chrono::steady_clock::now,
      .wall_time = std::chrono::system_clock::now,
      .become = front::become,
      .start_program = link::ChildProgram::start,
      .build_flags = gym::shown_cpp_flags(),
      .cpu_card = front::this_cpu,
      .program_folder = os::program_folder(),
      .cache_folder = os::cache_home(),
      .data_folder = os::data_home(),
      .stop = interrupt.token(),
  };
  return front::run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), services);
}
