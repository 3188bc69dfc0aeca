// A running sandbox as the supervisor holds it.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "os/file.h"
#include "sandbox/cgroup.h"
#include "sandbox/host_process.h"
#include "sandbox/monitor.h"
#include "sandbox/sandbox.h"
#include "sandbox/uid_pool.h"

namespace kw::sandbox {

// What belongs to one sandbox besides its processes; freed after the last of them is gone.
struct SandboxParts {
  Spawned spawned;
  os::UniqueFd command;  // the init's command socket
  std::optional<Group> group;
  std::optional<UidLease> uid;
  std::optional<os::TempDir> work;  // without namespaces
  bool namespaces = false;
  std::function<void(Group)> retire;  // removes the group later
};

class ProcessSandbox final : public Sandbox {
 public:
  ProcessSandbox(SandboxParts parts, MonitorFiles files,
                 std::function<void(ProcessSandbox*)> on_end)
      : parts_(std::move(parts)), monitor_(std::move(files)), on_end_(std::move(on_end)) {}
  ~ProcessSandbox() override;

  pid_t pid() const override { return parts_.spawned.init; }
  pid_t candidate_pid() const override { return monitor_.files().candidate; }
  Result<MonitorHandles> monitor_handles() const override { return monitor_.files().handles(); }
  Monitor& monitor() override { return monitor_; }
  Status set_memory_limit(std::uint64_t bytes) override;
  Status kill() override;
  Result<Exit> wait(std::chrono::milliseconds timeout) override;

  DescriptorMonitor& descriptor_monitor() { return monitor_; }

 private:
  // After the end of the init: takes the exit, then returns group and uid.
  Status finish();

  SandboxParts parts_;
  DescriptorMonitor monitor_;
  std::function<void(ProcessSandbox*)> on_end_;
  std::optional<Exit> exit_;
};

// Kills what a launch had started when it failed half way: same steps as ProcessSandbox::kill.
Status end_processes(SandboxParts& parts);
// Returns group and uid after the end of the init.
Status give_back(SandboxParts& parts);

// Reads a status socket up to kStarted and returns the sender's pid; kFailed becomes the error it
// describes.
Result<pid_t> await_started(int status, std::chrono::milliseconds timeout);
// Why the program could not be executed, if that happened.
Status exec_error(int status);

}  // namespace kw::sandbox
