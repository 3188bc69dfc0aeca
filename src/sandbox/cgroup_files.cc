// cgroupfs access, and the parsers of mountinfo and /proc/self/cgroup.
#include "sandbox/cgroup_files.h"

#include <algorithm>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace kw::sandbox {

Status CgroupFiles::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) return fail_errno(errno, "cannot make the cgroup " + path);
  return {};
}

Status CgroupFiles::remove_folder(const std::string& path) {
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, "cannot remove the cgroup " + path);
  return {};
}

std::vector<std::string> CgroupFiles::folders(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  return names;
}

Result<os::UniqueFd> CgroupFiles::open(const std::string& path, int flags) {
  os::UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "cannot open " + path);
  return fd;
}

Status CgroupFiles::write(const std::string& path, const std::string& text) {
  KW_TRY(os::UniqueFd fd, open(path, O_WRONLY | O_TRUNC));
  if (::write(fd.get(), text.data(), text.size()) < 0)
    return fail_errno(errno, "cannot write " + path);
  return {};
}

Result<std::string> CgroupFiles::read(const std::string& path) {
  KW_TRY(os::UniqueFd fd, open(path, O_RDONLY));
  KW_TRY(std::string text, os::read_to_end(fd.get(), 1U << 20U));
  return std::string(trim(text));
}

bool CgroupFiles::exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

namespace {

struct OwnGroup {
  bool unified;
  std::vector<std::string> controllers;
  std::string path;
};

// Lines "3:cpuset:/path"; "0::/path" is version 2.
std::vector<OwnGroup> parse_own_groups(const std::string& text) {
  std::vector<OwnGroup> groups;
  for (const std::string& line : split(text, '\n')) {
    std::size_t first = line.find(':');
    std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    groups.push_back({controllers.empty(), split(controllers, ','), line.substr(second + 1)});
  }
  return groups;
}

// The group's folder under the mount; a container sees only the part of the hierarchy below `root`.
std::string folder_of(const std::string& mount_point, const std::string& root,
                      const std::string& path) {
  std::string below = path;
  if (root != "/")
    below = path == root || path.starts_with(root + "/") ? path.substr(root.size()) : "/";
  if (below.empty() || below == "/" || below.find("/..") != std::string::npos) return mount_point;
  return mount_point + below;
}

}  // namespace

std::vector<Hierarchy> find_hierarchies(const std::string& mountinfo,
                                        const std::string& own_groups) {
  std::vector<OwnGroup> groups = parse_own_groups(own_groups);
  std::vector<Hierarchy> found;
  for (const std::string& line : split(mountinfo, '\n')) {
    std::vector<std::string> fields = split(line, ' ');
    auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    bool unified = dash[1] == "cgroup2";
    if (!unified && dash[1] != "cgroup") continue;
    std::vector<std::string> options = split(dash[3], ',');
    for (const OwnGroup& group : groups) {
      bool same = group.unified == unified;
      for (const std::string& name : group.controllers) {
        same =
            same && (unified || std::find(options.begin(), options.end(), name) != options.end());
      }
      if (!same) continue;
      found.push_back({unified, unified ? std::vector<std::string>{} : group.controllers, fields[4],
                       folder_of(fields[4], fields[3], group.path)});
      break;
    }
  }
  return found;
}

}  // namespace kw::sandbox
