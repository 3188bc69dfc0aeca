// The control files of cgroups behind an interface, so that both versions' logic is tested without
// either.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace kw::sandbox {

// The kernel's own files. Control files are written in one write() and never created. Threads:
// stateless.
class CgroupFiles {
 public:
  virtual ~CgroupFiles() = default;
  virtual Status make_folder(const std::string& path);
  virtual Status remove_folder(
      const std::string& path);  // fails while a process or a folder is in it
  virtual std::vector<std::string> folders(const std::string& path);
  virtual Status write(const std::string& path, const std::string& text);
  Result<std::string> read(const std::string& path);
  Result<os::UniqueFd> open(const std::string& path, int flags);
  bool exists(const std::string& path);
};

// One mounted hierarchy and where this process is in it.
struct Hierarchy {
  bool unified = false;                  // version 2
  std::vector<std::string> controllers;  // version 1
  std::string mount_point;
  std::string own_folder;  // mount_point + the path of our group
};
// From the texts of /proc/self/mountinfo and /proc/self/cgroup.
std::vector<Hierarchy> find_hierarchies(const std::string& mountinfo,
                                        const std::string& own_groups);

}  // namespace kw::sandbox
