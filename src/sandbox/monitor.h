// The one implementation of Monitor, over descriptors: used by the supervisor on its own sandboxes
// and by the checker on received ones.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

namespace kw::sandbox {

// Which descriptors a monitor may have. Those that its host cannot give are invalid.
struct MonitorFiles {
  FreezeKind freeze = FreezeKind::kNone;
  bool cpu_in_microseconds = false;  // cpu is a version 2 cpu.stat, not a cpuacct.usage
  pid_t candidate = 0;               // in the pid namespace of supervisor and checker
  os::UniqueFd status;               // exit record, only ever peeked at
  os::UniqueFd freezer;              // cgroup.freeze or freezer.state
  os::UniqueFd frozen;               // version 2: cgroup.events
  os::UniqueFd command;              // signals: the init's command socket
  os::UniqueFd cpu;
  os::UniqueFd stat;      // /proc/<candidate>/stat
  os::UniqueFd schedule;  // /proc/<candidate>/schedstat
  os::UniqueFd memory;    // memory.events or memory.oom_control
  os::UniqueFd faults;    // memory.stat
  os::UniqueFd pressure;  // version 2: cpu.pressure

  Result<MonitorHandles> handles() const;  // duplicates
};

class DescriptorMonitor final : public Monitor {
 public:
  explicit DescriptorMonitor(MonitorFiles files) : files_(std::move(files)) {}
  bool can_freeze() const override { return files_.freeze != FreezeKind::kNone; }
  std::string freeze_kind() const override;
  Status freeze() override;
  Status thaw() override;
  Result<bool> is_still() override;
  Result<std::chrono::nanoseconds> cpu_time() override;
  Result<PageFaults> page_faults() override;
  bool cpu_time_is_whole() const override { return files_.cpu.valid(); }
  ThreadTimes first_thread() override;
  std::chrono::nanoseconds waited() override;
  std::optional<Exit> exited() override;

  // freeze(), but false when it was frozen already (and stays so).
  Result<bool> freeze_unless_frozen();
  const MonitorFiles& files() const { return files_; }

 private:
  Status await_unified(bool frozen);
  Status await_v1();
  Result<char> command(char what);
  bool killed_for_memory() const;

  MonitorFiles files_;
  std::mutex command_mutex_;  // a command and its reply belong together
};

}  // namespace kw::sandbox
