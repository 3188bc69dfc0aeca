// The last steps before hostile code: from a fork of the sandbox's init to a process that holds
// nothing it should not.
#pragma once
#include "sandbox/landlock.h"
#include "sandbox/spawn.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {

// What a host keeps for its sandboxes besides the box.
struct HostWalls {
  Layers layers;
  os::UniqueFd filter, filter_no_affinity;
  std::vector<Bind> binds;  // of the host, for the Landlock rules where there is no box
  os::UniqueFd host;        // pidfd of the host: a child sees by it that the host has ended
};

// All walls, in an order in which each step still has the rights that it needs: signals,
// descriptors (0 /dev/null, 1 and 2 log, 3 control, 4 the program), limits, uid, capabilities,
// no_new_privs, parent-death signal, Landlock, affinity, seccomp. Afterwards the status descriptor
// is 5 and nothing else is open.
StepError enter_walls(const HostWalls& walls, SpawnRequest& request, os::UniqueFd& status);

inline constexpr int kProgramFd = 4;
inline constexpr int kStatusFd = 5;

// The environment of every sandbox: a few fixed variables, then the request's.
std::vector<std::pair<std::string, std::string>> sandbox_environment(const SpawnRequest& request);

// Replaces the process by the request's program.
StepError execute(const SpawnRequest& request);

}  // namespace kw::sandbox
