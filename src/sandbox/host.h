// The process that forks sandboxes: kernelwright-launcher for native programs, the zygote for
// Python. Single-threaded. One implementation for both; the zygote calls it through leaf.cc.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "sandbox/candidate.h"
#include "sandbox/mounts.h"
#include "sandbox/spawn.h"

namespace kw::sandbox {

// What an interpreter wants to be told around a fork.
struct ForkHooks {
  void (*before)() = nullptr;
  void (*after_in_parent)() = nullptr;
  void (*after_in_child)() = nullptr;
};

class Host {
 public:
  // Receives the configuration on `socket` and builds what the sandboxes share; the process's mount
  // namespace changes. A failure is told to the supervisor too. `more_binds` are those that this
  // host knows of (the interpreter's folders).
  static Result<std::unique_ptr<Host>> make(os::UniqueFd socket, std::vector<Bind> more_binds);

  // Says "ready", then forks inits until the supervisor is gone (nullopt). In a candidate's process
  // it returns the request that its init got, behind all walls; the host must not be used there.
  // The inits end when they see that the supervisor is gone, or with this process; frozen ones need
  // their cgroup's kill.
  std::optional<SpawnRequest> serve(const ForkHooks& hooks);

  void await_children();
  // The supervisor's cgroups, for clean-up behind it.
  const std::vector<std::string>& group_folders() const { return group_folders_; }

 private:
  Host(os::UniqueFd socket, HostWalls walls)
      : socket_(std::move(socket)), walls_(std::move(walls)) {}
  // The request in the candidate's process, nullopt in the host's.
  std::optional<SpawnRequest> fork_init(InitRequest init, const ForkHooks& hooks);
  void reap();

  os::UniqueFd socket_, signals_;
  HostWalls walls_;
  BoxTemplate box_;
  std::vector<std::string> group_folders_;
};

}  // namespace kw::sandbox
