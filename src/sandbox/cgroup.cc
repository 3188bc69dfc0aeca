// Making, limiting, killing and removing control groups.
#include "sandbox/cgroup.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"

namespace kw::sandbox {
namespace {

constexpr auto kRemoveLimit = std::chrono::seconds(3);
constexpr const char* kNamePrefix = "kernelwright-";

// /proc/<pid>/stat field 22; "" when there is no such process.
std::string start_time(const std::string& pid) {
  auto text = os::read_file("/proc/" + pid + "/stat", 4096);
  if (!text) return "";
  std::size_t bracket = text->rfind(')');
  if (bracket == std::string::npos) return "";
  std::vector<std::string> fields = split(text->substr(bracket + 2), ' ');
  return fields.size() > 19 ? fields[19] : "";
}

std::string pid_namespace() {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? std::to_string(info.st_ino) : "0";
}

bool has_word(const std::string& text, const std::string& word) {
  std::vector<std::string> words = split(text, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Kills what is in one group, whatever it is made of. Without cgroup.kill a fork can be missed, so
// callers repeat.
void kill_members(CgroupFiles& files, const std::string& folder) {
  if (files.exists(folder + "/cgroup.kill")) {
    (void)files.write(folder + "/cgroup.kill", "1");
  } else if (auto pids = files.read(folder + "/cgroup.procs"); pids) {
    for (const std::string& pid : split(*pids, '\n')) {
      // 0 is a process that our pid namespace does not show.
      if (long number = std::strtol(pid.c_str(), nullptr, 10); number > 1)
        ::kill(static_cast<pid_t>(number), SIGKILL);
    }
  }
  if (files.exists(folder + "/freezer.state"))
    (void)files.write(folder + "/freezer.state", "THAWED");
}

// The folders from `from` up to `top`, both included.
std::vector<std::string> upwards(std::string from, const std::string& top) {
  std::vector<std::string> folders = {from};
  while (from.size() > top.size()) {
    from = from.substr(0, from.rfind('/'));
    folders.push_back(from);
  }
  return folders;
}

}  // namespace

std::vector<std::string> GroupFolders::all() const {
  std::vector<std::string> folders;
  for (const std::string* folder : {&unified, &memory, &pids, &cpuset, &cpuacct, &freezer}) {
    if (!folder->empty() && std::find(folders.begin(), folders.end(), *folder) == folders.end())
      folders.push_back(*folder);
  }
  return folders;
}

GroupFolders GroupFolders::child(const std::string& name) const {
  GroupFolders result = *this;
  for (std::string* folder : {&result.unified, &result.memory, &result.pids, &result.cpuset,
                              &result.cpuacct, &result.freezer}) {
    if (!folder->empty()) *folder += "/" + name;
  }
  return result;
}

GroupRoot GroupRoot::make(CgroupFiles& files, const std::vector<Hierarchy>& hierarchies,
                          const std::string& name) {
  GroupRoot root(&files, {});
  // Version 1 first: a controller belongs to one version only.
  for (const Hierarchy& hierarchy : hierarchies) {
    if (!hierarchy.unified) root.use_v1(hierarchy, name);
  }
  for (const Hierarchy& hierarchy : hierarchies) {
    if (hierarchy.unified) root.use_unified(hierarchy, name);
  }
  if (hierarchies.empty()) root.missing_.emplace_back("no cgroup hierarchy is mounted");
  return root;
}

void GroupRoot::use_v1(const Hierarchy& hierarchy, const std::string& name) {
  std::vector<std::string*> purposes;
  for (const std::string& controller : hierarchy.controllers) {
    if (controller == "memory") purposes.push_back(&folders_.memory);
    if (controller == "pids") purposes.push_back(&folders_.pids);
    if (controller == "cpuset") purposes.push_back(&folders_.cpuset);
    if (controller == "cpuacct") purposes.push_back(&folders_.cpuacct);
    if (controller == "freezer") purposes.push_back(&folders_.freezer);
  }
  if (purposes.empty()) return;
  std::string folder = hierarchy.own_folder + "/" + name;
  if (auto made = files_->make_folder(folder); !made) {
    missing_.push_back(made.error().message());
    return;
  }
  for (std::string* purpose : purposes) *purpose = folder;
  if (folders_.cpuset != folder) return;
  // A new cpuset is empty, and nothing can join it before it has both.
  for (const char* file : {"cpuset.mems", "cpuset.cpus"}) {
    auto parent = files_->read(hierarchy.own_folder + "/" + file);
    if (!parent || !files_->write(folder + "/" + file, *parent)) {
      missing_.push_back(std::string("cannot set ") + file);
      folders_.cpuset.clear();
      if (folders_.all().empty() || purposes.size() == 1) (void)files_->remove_folder(folder);
      return;
    }
  }
}

void GroupRoot::use_unified(const Hierarchy& hierarchy, const std::string& name) {
  // Controllers reach only groups whose parent holds no processes, so our own group may be too low:
  // the first folder upwards that gives memory and pids is taken, else the first that can be made
  // at all (freeze and kill need no controllers).
  auto offered = files_->read(hierarchy.mount_point + "/cgroup.controllers");
  bool wants_controllers = folders_.memory.empty() && offered && has_word(*offered, "memory");
  std::string first;
  for (const std::string& base : upwards(hierarchy.own_folder, hierarchy.mount_point)) {
    std::string folder = base + "/" + name;
    if (auto made = files_->make_folder(folder); !made) {
      if (first.empty()) missing_.push_back(made.error().message());
      continue;
    }
    for (const char* controller : {"+memory", "+pids", "+cpuset"})
      (void)files_->write(base + "/cgroup.subtree_control", controller);
    std::string got = files_->read(folder + "/cgroup.controllers").value_or("");
    bool good = has_word(got, "memory") && has_word(got, "pids");
    if (wants_controllers && !good) {
      if (first.empty()) {
        first = folder;
      } else {
        (void)files_->remove_folder(folder);
      }
      continue;
    }
    if (!first.empty()) (void)files_->remove_folder(first);
    first = folder;
    break;
  }
  if (first.empty()) return;
  folders_.unified = first;
  std::string got = files_->read(first + "/cgroup.controllers").value_or("");
  auto take = [&](const char* controller, std::string& folder, bool& v2) {
    if (!folder.empty() || !has_word(got, controller)) return;
    if (!files_->write(first + "/cgroup.subtree_control", std::string("+") + controller)) return;
    folder = first;
    v2 = true;
  };
  take("memory", folders_.memory, folders_.memory_v2);
  take("pids", folders_.pids, folders_.pids_v2);
  take("cpuset", folders_.cpuset, folders_.cpuset_v2);
  if (wants_controllers && folders_.memory.empty())
    missing_.push_back("the memory controller is not delegated to " + first);
}

FreezeKind GroupRoot::freeze_kind() const {
  if (!folders_.unified.empty() && files_->exists(folders_.unified + "/cgroup.freeze"))
    return FreezeKind::kUnified;
  if (!folders_.freezer.empty()) return FreezeKind::kV1;
  return FreezeKind::kNone;
}

GroupRoot::GroupRoot(GroupRoot&& other) noexcept
    : files_(other.files_),
      folders_(std::exchange(other.folders_, {})),
      missing_(std::move(other.missing_)) {}

GroupRoot::~GroupRoot() {
  if (files_ != nullptr) remove_group_trees(*files_, folders_.all());
}

Result<Group> GroupRoot::create(const std::string& name) {
  Group group(files_, folders_.child(name));
  for (const std::string& folder : group.folders().all())
    KW_TRY_STATUS(files_->make_folder(folder));
  if (!pins_cpus() || folders_.cpuset_v2) return group;
  // Version 1: a new cpuset is empty, and nothing can join it before it has both.
  for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
    KW_TRY(std::string parent, files_->read(folders_.cpuset + file));
    KW_TRY_STATUS(files_->write(group.folders().cpuset + file, parent));
  }
  return group;
}

Group::~Group() {
  if (folders_.all().empty()) return;
  kill();
  if (!remove()) remove_group_trees(*files_, folders_.all());
}

Result<std::vector<os::UniqueFd>> Group::open_procs(std::vector<std::string>& names) const {
  std::vector<os::UniqueFd> fds;
  for (const std::string& folder : folders_.all()) {
    KW_TRY(os::UniqueFd fd, files_->open(folder + "/cgroup.procs", O_WRONLY));
    fds.push_back(std::move(fd));
    names.push_back(folder);
  }
  return fds;
}

Status Group::limit(const Limits& limits, const std::vector<int>& cpus) {
  if (!folders_.memory.empty()) KW_TRY_STATUS(set_memory_limit(limits.memory_bytes));
  if (!folders_.pids.empty())
    KW_TRY_STATUS(files_->write(folders_.pids + "/pids.max", std::to_string(limits.processes + 1)));
  if (folders_.cpuset.empty() || cpus.empty()) return {};
  std::vector<std::string> numbers;
  for (int cpu : cpus) numbers.push_back(std::to_string(cpu));
  return files_->write(folders_.cpuset + "/cpuset.cpus", join(numbers, ","));
}

Status Group::set_memory_limit(std::uint64_t bytes) {
  const std::string& folder = folders_.memory;
  if (folder.empty())
    return fail(ErrorCode::kUnsupported,
                "no memory cgroup: the limit of a running sandbox cannot change");
  std::string text = std::to_string(bytes);
  if (folders_.memory_v2) {
    KW_TRY_STATUS(files_->write(folder + "/memory.max", text));
    if (files_->exists(folder + "/memory.swap.max"))
      return files_->write(folder + "/memory.swap.max", "0");
    return {};
  }
  // Memory plus swap may never be lower than memory alone: the order depends on the direction, so
  // the first may fail.
  const std::string both = folder + "/memory.memsw.limit_in_bytes";
  if (!files_->exists(both)) return files_->write(folder + "/memory.limit_in_bytes", text);
  bool first = files_->write(both, text).has_value();
  KW_TRY_STATUS(files_->write(folder + "/memory.limit_in_bytes", text));
  return first ? Status{} : files_->write(both, text);
}

bool Group::killed_for_memory() const {
  if (folders_.memory.empty()) return false;
  const char* file = folders_.memory_v2 ? "/memory.events" : "/memory.oom_control";
  auto text = files_->read(folders_.memory + file);
  if (!text) return false;
  for (const std::string& line : split(*text, '\n')) {
    if (line.starts_with("oom_kill ")) return line != "oom_kill 0";
  }
  return false;
}

void Group::kill() const {
  for (const std::string& folder : folders_.all()) kill_members(*files_, folder);
  if (!folders_.unified.empty() && files_->exists(folders_.unified + "/cgroup.freeze")) {
    (void)files_->write(folders_.unified + "/cgroup.freeze", "0");
  }
}

// Memory that a sandbox leaves behind (cached files, names that it looked up) would keep its group
// alive in the kernel after it is removed. A kernel that cannot let go of it keeps it until memory
// is short.
void Group::release_memory() const {
  if (folders_.memory.empty()) return;
  if (!folders_.memory_v2) {
    (void)files_->write(folders_.memory + "/memory.force_empty", "0");
  } else if (auto used = files_->read(folders_.memory + "/memory.current"); used && *used != "0") {
    (void)files_->write(folders_.memory + "/memory.reclaim", *used);
  }
}

Status Group::remove() {
  auto deadline = std::chrono::steady_clock::now() + kRemoveLimit;
  bool is_released = false;
  while (true) {
    Status last;
    if (!is_released && files_->read(folders_.memory + "/cgroup.procs").value_or("").empty()) {
      release_memory();
      is_released = true;
    }
    for (const std::string& folder : folders_.all()) {
      if (auto removed = files_->remove_folder(folder); !removed) last = std::move(removed);
    }
    if (last) {
      folders_ = {};
      return {};
    }
    if (std::chrono::steady_clock::now() > deadline) return last;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::string supervisor_group_name(unsigned launcher) {
  std::string pid = std::to_string(::getpid());
  return kNamePrefix + pid + "-" + start_time(pid) + "-" + pid_namespace() + "-" +
         std::to_string(launcher);
}

void remove_leftover_groups(CgroupFiles& files, const std::vector<Hierarchy>& hierarchies) {
  std::vector<std::string> dead;
  for (const Hierarchy& hierarchy : hierarchies) {
    for (const std::string& base : upwards(hierarchy.own_folder, hierarchy.mount_point)) {
      for (const std::string& name : files.folders(base)) {
        if (!name.starts_with(kNamePrefix)) continue;
        std::vector<std::string> parts = split(name, '-');
        if (parts.size() != 5 || parts[3] != pid_namespace() || start_time(parts[1]) == parts[2])
          continue;
        dead.push_back(base + "/" + name);
      }
    }
  }
  remove_group_trees(files, dead);
}

void remove_group_trees(CgroupFiles& files, const std::vector<std::string>& folders) {
  auto deadline = std::chrono::steady_clock::now() + kRemoveLimit;
  std::vector<std::string> left = folders;
  while (!left.empty() && std::chrono::steady_clock::now() < deadline) {
    for (const std::string& folder : left) {
      kill_members(files, folder);
      for (const std::string& name : files.folders(folder)) {
        kill_members(files, folder + "/" + name);
        (void)files.remove_folder(folder + "/" + name);
      }
    }
    std::erase_if(
        left, [&](const std::string& folder) { return files.remove_folder(folder).has_value(); });
    if (!left.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace kw::sandbox
