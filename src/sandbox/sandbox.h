// Sandboxes for hostile processes: namespaces, own uid, mounts, cgroups (v1, v2 or none), seccomp,
// Landlock, limits. Theory of operation: docs/sandbox.md. The supervisor asks a small
// single-threaded launcher process (native) or the Python zygote to fork; the fork's init (pid 1 of
// a new pid namespace, trusted, other privileges than the candidate) reaps and reports the exit on
// a status pipe.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"

namespace kw::sandbox {

// What keeps a candidate from the checker. doctor prints the level reached and what each missing
// layer costs.
enum class Level : int {
  kNone = 0,
  kBasic = 1,       // seccomp, Landlock, rlimits: trusted users only
  kNamespaces = 2,  // plain user: namespaces, but the kernel uid stays the user's own
  kFull = 3,        // distinct uid per candidate, all namespaces, cgroup limits, freezer
};

struct NamedLevel {
  std::string_view name;
  Level level;
};
inline constexpr std::array<NamedLevel, 4> kLevels = {{{"none", Level::kNone},
                                                       {"basic", Level::kBasic},
                                                       {"namespaces", Level::kNamespaces},
                                                       {"full", Level::kFull}}};
inline std::string_view to_string(Level level) {
  return kLevels.at(static_cast<std::size_t>(level)).name;
}
inline std::optional<Level> level_from_string(std::string_view name) {
  for (const NamedLevel& each : kLevels)
    if (each.name == name) return each.level;
  return std::nullopt;
}

struct Limits {
  std::uint64_t memory_bytes = 4ULL << 30U;
  std::uint32_t processes = 64;              // processes and threads
  std::uint64_t work_bytes = 256ULL << 20U;  // tmpfs /work
  std::uint32_t work_inodes = 8192;
  std::uint64_t file_bytes = 512ULL << 20U;
  std::uint64_t stack_bytes = 64ULL << 20U;
  std::uint32_t open_files = 1024;
  std::chrono::seconds cpu_time{600};
};

struct Bind {
  std::string source,
      target;  // read-only, nosuid, nodev; a missing source is skipped when optional
  bool optional = false;
  bool device = false;  // a device node, which the sandbox may open for writing: nosuid only
};

struct Spec {
  std::string role;  // "executor", "oracle", "compiler": the zygote's leaf
  std::vector<std::string>
      argv;  // native: argv[0] is an absolute path inside or program_fd is set; zygote: ignored
  int program_fd = -1;  // executed by descriptor when >= 0; borrowed during launch()
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Bind> binds;  // besides the standard ones (/usr, /lib*, /bin, /etc/ld.so.cache ...)
  Limits limits;
  std::vector<int> cpus;         // empty: all
  bool may_set_affinity = true;  // false: seccomp refuses sched_setaffinity
  os::UniqueFd control;          // becomes fd 3
  os::UniqueFd log;              // becomes stdout and stderr
};

struct Exit {
  bool signalled = false;
  int code = 0;                // exit code, or the signal
  bool out_of_memory = false;  // the cgroup killed it
  std::chrono::nanoseconds cpu_time{0};
};

// A thread by the kernel's count: it had a core, or it was ready to run while something else had
// its core. In all other time it slept.
struct ThreadTimes {
  std::chrono::nanoseconds ran{0}, waited{0};
};

// Page faults by two counts. The kernel adds to a group's count in steps: on a machine of N cores
// up to 64 N faults may still be missing.
struct PageFaults {
  std::uint64_t first_process = 0;  // the candidate's, with the children that it has waited for
  std::uint64_t group = 0;          // of all processes that are or were; 0: no memory cgroup

  // Faults since `before`, which was read from the same sandbox.
  std::uint64_t since(const PageFaults& before) const {
    return std::max(first_process - before.first_process, group - before.group);
  }
};

// What a checker in another process needs of a sandbox: freeze, thaw, clocks and the exit, all
// through descriptors. One thread at a time.
class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual bool can_freeze() const = 0;
  virtual std::string freeze_kind() const = 0;  // "cgroup v2", "cgroup v1", "signals", "none"
  virtual Status freeze() = 0;                  // returns when every process is confirmed frozen
  virtual Status thaw() = 0;
  // Says of a frozen sandbox whether every process is still frozen.
  virtual Result<bool> is_still() = 0;
  virtual Result<std::chrono::nanoseconds>
  cpu_time() = 0;                                // of all processes of the sandbox since the start
  virtual Result<PageFaults> page_faults() = 0;  // since the start
  // Whether cpu_time() counts every process: not without cgroups.
  virtual bool cpu_time_is_whole() const = 0;
  // The times of its first thread since the start; zeros where the kernel does not say
  // (/proc/PID/schedstat).
  virtual ThreadTimes first_thread() = 0;
  // For how long since the start any process or thread of the sandbox was ready while a program
  // outside of the sandbox had the core; the mean of the cores where it uses several. 0 where the
  // kernel does not say (cpu.pressure of version 2 cgroups).
  virtual std::chrono::nanoseconds waited() = 0;
  virtual std::optional<Exit> exited() = 0;  // does not block
};

// Descriptors and their description, to be sent over a socket and opened again there.
struct MonitorHandles {
  Json description;
  std::vector<os::UniqueFd> fds;
};
Result<std::unique_ptr<Monitor>> open_monitor(const Json& description,
                                              std::vector<os::UniqueFd> fds);

// A running sandbox. The destructor kills everything in it, waits, and removes cgroup and uid
// lease. Move-only; one owner thread.
class Sandbox {
 public:
  virtual ~Sandbox() = default;
  virtual pid_t pid() const = 0;  // of the sandbox's init, in the supervisor's pid namespace
  virtual pid_t candidate_pid() const = 0;  // of the candidate's first process, likewise
  virtual Result<MonitorHandles> monitor_handles() const = 0;
  virtual Monitor& monitor() = 0;
  virtual Status set_memory_limit(std::uint64_t bytes) = 0;
  virtual Status kill() = 0;  // SIGKILL to all, whatever they ignore; thaws if needed
  virtual Result<Exit> wait(
      std::chrono::milliseconds timeout) = 0;  // kDeadlineExceeded when still running
};

enum class Where { kNative, kZygote };

// Starts sandboxes. Threads: launch() may be called from any thread.
class Launcher {
 public:
  struct Options {
    Level at_least = Level::kNone;
    std::string launcher_program;          // absolute path of kernelwright-launcher
    std::vector<std::string> zygote_argv;  // {python, "-I", zygote.py, ...}; empty: no Python here
    std::vector<std::pair<std::string, std::string>>
        zygote_environment;  // LD_PRELOAD of the arena, OMP_NUM_THREADS=1, ...
  };
  // kIsolationTooWeak when at_least cannot be reached. The zygote is started on the first launch
  // that needs it, or by warm_zygote().
  static Result<std::unique_ptr<Launcher>> start(Options options);
  virtual ~Launcher() = default;
  virtual Level level() const = 0;
  virtual Status warm_zygote() = 0;
  virtual Result<std::unique_ptr<Sandbox>> launch(Where where, Spec spec) = 0;
  // Freezes or thaws every sandbox of this launcher but the two given: nothing of ours disturbs a
  // timed block.
  virtual Status freeze_others(const std::vector<const Sandbox*>& keep_running) = 0;
  virtual Status thaw_others() = 0;
};

}  // namespace kw::sandbox
