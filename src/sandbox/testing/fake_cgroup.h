// A cgroup file system in an ordinary folder: new groups get the control files that the kernel
// would make, rmdir refuses groups with members, and controllers reach only children that
// subtree_control names. Both versions.
#pragma once
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "os/file.h"
#include "sandbox/cgroup_files.h"

namespace kw::sandbox {

class FakeCgroupFiles : public CgroupFiles {
 public:
  explicit FakeCgroupFiles(std::string root) : root_(std::move(root)) {}

  // A version 2 hierarchy at root/<name> whose top group offers these controllers to its children.
  void add_unified(const std::string& name, const std::string& controllers) {
    std::filesystem::create_directories(root_ + "/" + name);
    put(root_ + "/" + name, "cgroup.controllers", controllers);
    put(root_ + "/" + name, "cgroup.subtree_control", "");
  }
  void add_v1(const std::string& controller) {
    std::string top = root_ + "/" + controller;
    std::filesystem::create_directories(top);
    fill_v1(top, controller);
    if (controller == "cpuset") {
      put(top, "cpuset.cpus", "0-3");
      put(top, "cpuset.mems", "0");
    }
  }
  // Groups below this folder cannot be made.
  void make_read_only(const std::string& folder) { read_only_.insert(folder); }
  // A group that holds processes cannot give controllers to its children (version 2's rule).
  void make_busy(const std::string& folder) { busy_.insert(folder); }

  Status make_folder(const std::string& path) override {
    std::string parent = path.substr(0, path.rfind('/'));
    if (read_only_.contains(parent))
      return fail(ErrorCode::kPermissionDenied, "cannot make the cgroup {}", path);
    KW_TRY_STATUS(CgroupFiles::make_folder(path));
    std::string below = path.substr(root_.size() + 1);
    std::string hierarchy = below.substr(0, below.find('/'));
    if (!exists(root_ + "/" + hierarchy + "/cgroup.controllers")) {
      fill_v1(path, hierarchy);
      return {};
    }
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control", "cgroup.controllers",
                             "cgroup.freeze", "cgroup.kill", "cgroup.events", "cpu.stat"}) {
      put(path, file, "");
    }
    for (const std::string& controller : given_[parent]) give(path, controller);
    return {};
  }
  Status write(const std::string& path, const std::string& value) override {
    std::string folder = path.substr(0, path.rfind('/'));
    if (path.substr(folder.size()) != "/cgroup.subtree_control")
      return CgroupFiles::write(path, value);
    std::string controller = value.substr(1);
    bool has = (" " + text(folder + "/cgroup.controllers") + " ").find(" " + controller + " ") !=
               std::string::npos;
    if (busy_.contains(folder) || !has) return fail(ErrorCode::kInternal, "cannot write {}", path);
    given_[folder].insert(controller);
    for (const std::string& child : folders(folder)) give(folder + "/" + child, controller);
    return {};
  }
  Status remove_folder(const std::string& path) override {
    if (!exists(path)) return {};
    if (!text(path + "/cgroup.procs").empty() || !folders(path).empty()) {
      return fail(ErrorCode::kInternal, "cannot remove the cgroup {}: busy", path);
    }
    for (const auto& entry : std::filesystem::directory_iterator(path))
      std::filesystem::remove(entry.path());
    return CgroupFiles::remove_folder(path);
  }
  std::string text(const std::string& path) { return read(path).value_or("(missing)"); }
  void put(const std::string& folder, const std::string& file, const std::string& content) {
    std::ofstream(folder + "/" + file) << content;
  }

 private:
  void fill_v1(const std::string& folder, const std::string& controller) {
    put(folder, "cgroup.procs", "");
    if (controller == "memory") {
      for (const char* file :
           {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"})
        put(folder, file, "");
    }
    if (controller == "pids") put(folder, "pids.max", "");
    if (controller == "cpuset") {
      put(folder, "cpuset.cpus", "");
      put(folder, "cpuset.mems", "");
    }
    if (controller == "freezer") put(folder, "freezer.state", "THAWED");
  }
  void give(const std::string& folder, const std::string& controller) {
    std::string present = text(folder + "/cgroup.controllers");
    put(folder, "cgroup.controllers", present.empty() ? controller : present + " " + controller);
    if (controller == "memory") {
      put(folder, "memory.max", "max");
      put(folder, "memory.swap.max", "max");
      put(folder, "memory.events", "low 0\noom 0\noom_kill 0\n");
    }
    if (controller == "pids") put(folder, "pids.max", "max");
    if (controller == "cpuset") put(folder, "cpuset.cpus", "");
  }

  std::string root_;
  std::set<std::string> read_only_, busy_;
  std::map<std::string, std::set<std::string>> given_;  // folder: what its subtree_control names
};

}  // namespace kw::sandbox
