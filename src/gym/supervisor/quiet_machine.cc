// Core time from /proc/stat.
#include "gym/supervisor/quiet_machine.h"

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "os/file.h"

namespace kw::gym {
namespace {

constexpr auto kWatch = std::chrono::milliseconds(350);
constexpr double kMaxBusy = 0.05;  // cores

// Seconds of core time spent so far on anything but idling, all cores together.
Result<double> busy_seconds() {
  KW_TRY(std::string text, os::read_file("/proc/stat", 1U << 20U));
  std::istringstream line(text);
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal;
  if (!line) return fail(ErrorCode::kInternal, "/proc/stat: no line of all cores");
  return (user + nice + system + irq + softirq + steal) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

Status require_quiet_machine() {
  KW_TRY(double before, busy_seconds());
  auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWatch);
  KW_TRY(double after, busy_seconds());
  std::chrono::duration<double> watched = std::chrono::steady_clock::now() - start;
  double busy = (after - before) / watched.count();
  if (busy <= kMaxBusy) return {};
  return fail(ErrorCode::kUnavailable,
              "--precise needs a quiet machine: others use {:.0f} % of a core (kernelwright doctor "
              "names sources of noise)",
              100 * busy);
}

}  // namespace kw::gym
