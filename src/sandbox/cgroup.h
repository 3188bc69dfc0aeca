// Control groups of sandboxes, version 1, version 2 or both at once (a hybrid host has v1
// controllers and a v2 hierarchy whose freezer and kill switch work without controllers).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"
#include "sandbox/cgroup_files.h"
#include "sandbox/sandbox.h"

namespace kw::sandbox {

enum class FreezeKind { kNone, kUnified, kV1, kSignals };

// Folders of one group, by purpose; empty where this host has none. Several may be the same folder.
struct GroupFolders {
  std::string unified;  // version 2: freeze, kill, cpu.stat
  std::string memory, pids, cpuset, cpuacct, freezer;
  bool memory_v2 = false, pids_v2 = false, cpuset_v2 = false;  // the three above are `unified`

  std::vector<std::string> all() const;  // each folder once
  GroupFolders child(const std::string& name) const;
};

class Group;

// The supervisor's group: parent of all its sandboxes' groups. Removed with everything in it on
// destruction.
class GroupRoot {
 public:
  // Makes the supervisor's own group in every usable hierarchy. Never fails: what cannot be had is
  // left out, and missing() says why.
  static GroupRoot make(CgroupFiles& files, const std::vector<Hierarchy>& hierarchies,
                        const std::string& name);
  static GroupRoot none() { return GroupRoot(nullptr, {}); }
  GroupRoot(GroupRoot&& other) noexcept;
  GroupRoot& operator=(GroupRoot&& other) = delete;
  ~GroupRoot();

  const GroupFolders& folders() const { return folders_; }
  const std::vector<std::string>& missing() const { return missing_; }
  bool any() const { return !folders_.all().empty(); }
  bool limits_memory() const { return !folders_.memory.empty(); }
  bool limits_processes() const { return !folders_.pids.empty(); }
  bool pins_cpus() const { return !folders_.cpuset.empty(); }
  FreezeKind freeze_kind() const;

  // A group that processes can join; without limits of its own until Group::limit.
  Result<Group> create(const std::string& name);

 private:
  GroupRoot(CgroupFiles* files, GroupFolders folders)
      : files_(files), folders_(std::move(folders)) {}
  void use_unified(const Hierarchy& hierarchy, const std::string& name);
  void use_v1(const Hierarchy& hierarchy, const std::string& name);

  CgroupFiles* files_;
  GroupFolders folders_;
  std::vector<std::string> missing_;
};

// One sandbox's group. Move-only; the destructor kills what is left in it and removes it.
class Group {
 public:
  Group(CgroupFiles* files, GroupFolders folders) : files_(files), folders_(std::move(folders)) {}
  Group(Group&& other) noexcept
      : files_(other.files_), folders_(std::exchange(other.folders_, {})) {}
  Group& operator=(Group&& other) = delete;
  ~Group();

  const GroupFolders& folders() const { return folders_; }
  // The cgroup.procs files that a process joins the group by, with the folders' names.
  Result<std::vector<os::UniqueFd>> open_procs(std::vector<std::string>& names) const;
  // Memory, processes (and one more for the init) and, unless the list is empty, processors.
  Status limit(const Limits& limits, const std::vector<int>& cpus);
  Status set_memory_limit(std::uint64_t bytes);
  bool killed_for_memory() const;
  void kill() const;  // SIGKILL to all (version 2), and thaws
  // Succeeds only when no process is in the group: the proof that its uid is free again.
  Status remove();

 private:
  void release_memory() const;

  CgroupFiles* files_;
  GroupFolders folders_;
};

// "kernelwright-<pid>-<start>-<pid namespace>-<launcher>" of this process; its launchers are
// numbered, because each has groups of its own.
std::string supervisor_group_name(unsigned launcher);
// Kills and removes the groups of supervisors of our pid namespace that are dead.
void remove_leftover_groups(CgroupFiles& files, const std::vector<Hierarchy>& hierarchies);
// Kills everything in the groups below these folders and removes them; gives up after a few
// seconds.
void remove_group_trees(CgroupFiles& files, const std::vector<std::string>& folders);

}  // namespace kw::sandbox
