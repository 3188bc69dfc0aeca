// Findings about walls and timing noise.
#include "sandbox/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "os/file.h"
#include "sandbox/process_launcher.h"

namespace kw::sandbox {
namespace {

using State = HealthCheck::State;

std::string first_line(const std::string& path) {
  auto text = os::read_file(path, 1U << 20U);
  return text ? std::string(trim(text->substr(0, text->find('\n')))) : "";
}

HealthCheck layer(std::string name, bool present, std::string detail, std::string cost) {
  return {std::move(name), present ? State::kOk : State::kMissing, std::move(detail),
          present ? "" : std::move(cost)};
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kFull:
      return "3 (full): distinct uid, all namespaces, cgroup limits and freezer";
    case Level::kNamespaces:
      return "2 (namespaces)";
    case Level::kBasic:
      return "1 (basic): system call filter, Landlock and rlimits";
    case Level::kNone:
      break;
  }
  return "0 (none)";
}

const char* level_cost(Level level) {
  switch (level) {
    case Level::kFull:
      return "";
    case Level::kNamespaces:
      return "candidates share a uid or lack hard limits: fine for models and users that you trust "
             "not to attack the host";
    case Level::kBasic:
      return "candidates see the host's processes and network names: only for trusted code. Run as "
             "root, or allow user namespaces";
    case Level::kNone:
      break;
  }
  return "nothing keeps a candidate from the checker: verdicts can be forged. Use a kernel with "
         "Landlock, or run as root";
}

// The median of a few freezes of an idle program.
void add_freezer(ProcessLauncher& launcher, const std::string& program,
                 std::vector<HealthCheck>& checks) {
  Spec spec;
  spec.role = "doctor";
  spec.argv = {"/bin/sleep", "30"};
  auto sandbox = launcher.launch(Where::kNative, std::move(spec));
  if (!sandbox) {
    checks.push_back({"freezer", State::kMissing, sandbox.error().message(),
                      "no timing is possible with " + program});
    return;
  }
  Monitor& monitor = (*sandbox)->monitor();
  std::vector<double> micros;
  for (int i = 0; i < 21; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (!monitor.freeze()) break;
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
    if (!monitor.thaw()) break;
  }
  if (micros.empty()) {
    checks.push_back({"freezer", State::kMissing, monitor.freeze_kind() + " does not work",
                      "a candidate can compute before and after its timed call"});
    return;
  }
  std::sort(micros.begin(), micros.end());
  double median = micros[micros.size() / 2];
  bool group = monitor.freeze_kind().starts_with("cgroup");
  checks.push_back({"freezer", group ? State::kOk : State::kWarn,
                    fmt::format("{}, median {:.0f} us, worst {:.0f} us", monitor.freeze_kind(),
                                median, micros.back()),
                    group ? ""
                          : "each timed call pays this more, and a program can resume its own "
                            "processes when one of them is missed"});
}

void add_walls(ProcessLauncher& launcher, std::vector<HealthCheck>& checks) {
  const Reached& reached = launcher.reached();
  const Layers& layers = reached.layers;
  bool full = reached.level == Level::kFull;
  checks.push_back({"isolation level", full ? State::kOk : State::kWarn, level_name(reached.level),
                    level_cost(reached.level)});
  checks.push_back(layer(
      "namespaces", layers.namespaces,
      layers.user_namespace ? "through a user namespace" : "mount, pid, net, ipc, uts, cgroup",
      "the host's files are only hidden by Landlock, its processes and network not at all"));
  checks.push_back(layer("own uid", layers.own_uid,
                         layers.own_uid ? "61000 to 61999" : "all run as this user",
                         "the kernel counts candidates and this user as one owner (signals, "
                         "process limits, GPU clients); needs root"));
  checks.push_back(layer(
      "Landlock", layers.landlock_abi > 0,
      layers.landlock_abi > 0 ? fmt::format("ABI {}", layers.landlock_abi) : "not in this kernel",
      "no second wall behind the mount tree"));
  checks.push_back(layer("memory limit", reached.memory_group,
                         reached.memory_group ? "cgroup" : "RLIMIT_DATA a process",
                         "a candidate of many processes can use more than its limit, and "
                         "memory_limit is reported as an allocation failure"));
  checks.push_back(layer("process limit", reached.process_group,
                         reached.process_group   ? "cgroup"
                         : layers.user_namespace ? "RLIMIT_NPROC"
                                                 : "none",
                         "a fork bomb slows the host until it is killed"));
  checks.push_back(layer(
      "CPU pinning", reached.cpu_group,
      reached.cpu_group ? "cpuset" : "affinity, system call refused to the candidate",
      "threads stay where they are put only because the system call filter refuses to move them"));
  for (const std::string& reason : reached.refused)
    checks.push_back({"not available", State::kWarn, reason, ""});
}

struct CpuTimes {
  double total = 0, idle = 0, steal = 0;
};
CpuTimes cpu_times() {
  std::vector<std::string> fields = split(first_line("/proc/stat"), ' ');
  CpuTimes times;
  int column = 0;  // user nice system idle iowait irq softirq steal
  for (std::size_t i = 1; i < fields.size() && column < 8; ++i) {
    if (fields[i].empty()) continue;
    double value = std::strtod(fields[i].c_str(), nullptr);
    times.total += value;
    if (column == 3 || column == 4) times.idle += value;
    if (column == 7) times.steal += value;
    ++column;
  }
  return times;
}

void add_load(std::vector<HealthCheck>& checks) {
  CpuTimes before = cpu_times();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CpuTimes after = cpu_times();
  double total = std::max(1.0, after.total - before.total);
  double busy = 1.0 - (after.idle - before.idle) / total;
  double stolen = (after.steal - before.steal) / total;
  checks.push_back({"other load", busy < 0.15 ? State::kOk : State::kWarn,
                    fmt::format("{:.0f} % of all cores busy", 100 * busy),
                    busy < 0.15 ? ""
                                : "shared caches and memory bandwidth: wider intervals, more "
                                  "pairs until they are narrow enough"});
  checks.push_back({"steal time", stolen < 0.005 ? State::kOk : State::kWarn,
                    fmt::format("{:.1f} % now", 100 * stolen),
                    stolen < 0.005 ? ""
                                   : "the hypervisor takes the cores away: samples are dropped "
                                     "in pairs, many make a verdict noisy"});
}

void add_cores(std::vector<HealthCheck>& checks) {
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  checks.push_back(
      {"cores", cores >= 2 ? State::kOk : State::kWarn, std::to_string(cores),
       cores >= 2
           ? ""
           : "checker and candidate share the only core: hand-over times are in every sample"});
  std::string smt = first_line("/sys/devices/system/cpu/smt/active");
  checks.push_back(
      {"SMT", smt == "1" ? State::kWarn : State::kOk,
       smt == "1"   ? "on"
       : smt == "0" ? "off"
                    : "unknown",
       smt == "1" ? "a sibling thread's work changes times: keep the sibling idle or switch SMT off"
                  : ""});
}

void add_frequency(std::vector<HealthCheck>& checks) {
  std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) {
    bool steady = governor == "performance";
    checks.push_back({"frequency governor", steady ? State::kOk : State::kWarn, governor,
                      steady ? "" : "clocks follow the load: set the governor to performance"});
  }
  std::string no_turbo = first_line("/sys/devices/system/cpu/intel_pstate/no_turbo");
  std::string boost = first_line("/sys/devices/system/cpu/cpufreq/boost");
  bool known = !no_turbo.empty() || !boost.empty();
  bool turbo = no_turbo == "0" || boost == "1";
  if (known)
    checks.push_back({"turbo", turbo ? State::kWarn : State::kOk, turbo ? "on" : "off",
                      turbo ? "clocks depend on temperature and on the other cores" : ""});
}

void add_machine(std::vector<HealthCheck>& checks) {
  auto info = os::read_file("/proc/cpuinfo", 4U << 20U);
  bool virtual_machine = info && info->find(" hypervisor") != std::string::npos;
  checks.push_back({"virtual machine", virtual_machine ? State::kWarn : State::kOk,
                    virtual_machine ? "yes" : "no",
                    virtual_machine ? "neighbours share caches and clocks out of our sight: "
                                      "intervals are honest, absolute times move from day to day"
                                    : ""});
}

}  // namespace

const char* to_string(HealthCheck::State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kWarn:
      return "warn";
    case State::kMissing:
      break;
  }
  return "missing";
}

std::vector<HealthCheck> inspect(const std::string& launcher_program) {
  std::vector<HealthCheck> checks;
  Launcher::Options options;
  options.launcher_program = launcher_program;
  auto launcher = ProcessLauncher::start(std::move(options));
  if (launcher) {
    add_walls(**launcher, checks);
    add_freezer(**launcher, launcher_program, checks);
  } else {
    checks.push_back(
        {"isolation level", State::kMissing, launcher.error().message(), level_cost(Level::kNone)});
  }
  for (HealthCheck& check : inspect_timing()) checks.push_back(std::move(check));
  return checks;
}

std::vector<HealthCheck> inspect_timing() {
  std::vector<HealthCheck> checks;
  add_cores(checks);
  add_frequency(checks);
  add_load(checks);
  add_machine(checks);
  return checks;
}

}  // namespace kw::sandbox
