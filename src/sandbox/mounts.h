// The file tree of sandboxes. A host builds the part that all of them share once; the init of each
// sandbox adds its own part.
#pragma once
#include <string>
#include <vector>

#include "os/fd.h"
#include "sandbox/spawn.h"
#include "sandbox/syscalls.h"

namespace kw::sandbox {

// The shared part: a tmpfs with read-only binds of the system's programs and libraries, /dev with
// five nodes, stubs in /etc. It lives at /box of a small root above the host's own root, which the
// host left by chroot: the host sees the world as before, and a child in a copy of the mount
// namespace reaches the box through its current folder.
class BoxTemplate {
 public:
  // Enters a mount namespace (and a user namespace first, for a plain user) for the rest of the
  // process's life; single-threaded processes only.
  static StepError build(bool user_namespace, const std::vector<Bind>& binds, BoxTemplate& out);

  bool valid() const { return folder_.valid(); }
  // Makes the box the current folder: a child created now finds it there. leave() restores.
  StepError enter() const;
  void leave() const;
  // Binds whose target lies in a folder that every sandbox has for itself (/work, /tmp, /dev/shm):
  // mounted by its init.
  const std::vector<Bind>& late_binds() const { return late_binds_; }

 private:
  os::UniqueFd folder_, home_;
  std::vector<Bind> late_binds_;
};

// In the init of a sandbox, in its own mount namespace with the box as current folder: /proc,
// /work, /tmp, /dev/shm and the host's late binds. `root` gets the host's root.
StepError prepare_box(const BoxTemplate& box, os::UniqueFd& root);
// Then what the request says: limits and owner of /work, the sandbox's own binds. The box becomes
// the root, and everything else is detached.
StepError enter_box(os::UniqueFd root, const SpawnRequest& request);

// Maps the caller's ids onto themselves in the user namespace that it just entered.
StepError map_own_ids(uid_t uid, gid_t gid);

// The binds that every sandbox has: programs and libraries of the system.
std::vector<Bind> standard_binds();

}  // namespace kw::sandbox
