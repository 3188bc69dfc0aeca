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

Result<double> busy_seconds_now() {
  KW_TRY(const std::string text, os::read_file("/proc/stat", 1U << 20U));
  return busy_seconds(text, ::sysconf(_SC_CLK_TCK));
}

}  // namespace

Result<double> busy_seconds(const std::string& proc_stat, long ticks_per_second) {
  std::istringstream line(proc_stat);
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal;
  if (!line || name != "cpu") return fail(ErrorCode::kInternal, "/proc/stat: no line of all cores");
  return (user + nice + system + irq + softirq + steal) / static_cast<double>(ticks_per_second);
}

Status require_quiet(double busy_cores) {
  if (busy_cores <= kMaxBusy) return {};
  return fail(ErrorCode::kUnavailable,
              "--precise needs a quiet machine: others use {:.0f} % of a core (kernelwright doctor "
              "names sources of noise)",
              100 * busy_cores);
}

Status require_quiet_machine() {
  KW_TRY(double before, busy_seconds_now());
  auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWatch);
  KW_TRY(double after, busy_seconds_now());
  std::chrono::duration<double> watched = std::chrono::steady_clock::now() - start;
  return require_quiet((after - before) / watched.count());
}

}  // namespace kw::gym
