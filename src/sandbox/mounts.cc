// Mount namespaces, binds and pivot_root.
#include "sandbox/mounts.h"

#include <array>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace kw::sandbox {
namespace {

constexpr const char* kPasswd =
    "root:x:0:0:root:/:/bin/false\nsandbox:x:61000:61000:sandbox:/work:/bin/sh\n";
constexpr const char* kGroup = "root:x:0:\nsandbox:x:61000:\n";

StepError write_text(const std::string& path, std::string_view text) {
  os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return step_failed("creating " + path);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return step_failed("writing " + path);
  return {};
}

StepError make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return {error.value(), "making folder " + path};
  return {};
}

// A private, detached, read-only copy of the mount at source. nodev is left out for device nodes
// only.
StepError clone_mount(int source, bool devices, os::UniqueFd& out) {
  out.reset(
      ::open_tree(source, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!out.valid()) return step_failed("open_tree");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | (devices ? 0ULL : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
  attributes.propagation = MS_PRIVATE;
  if (::mount_setattr(out.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                      sizeof attributes) != 0) {
    return step_failed("mount_setattr");
  }
  return {};
}

// target is relative to the current folder (the box).
StepError attach(int source, bool devices, const std::string& target) {
  struct stat info{};
  if (::fstat(source, &info) != 0) return step_failed("fstat");
  os::UniqueFd tree;
  if (StepError error = clone_mount(source, devices, tree)) return error;
  std::string parent = std::filesystem::path(target).parent_path().string();
  if (!parent.empty()) {
    if (StepError error = make_folders(parent)) return error;
  }
  if (S_ISDIR(info.st_mode)) {
    if (StepError error = make_folders(target)) return error;
  } else if (::access(target.c_str(), F_OK) != 0) {
    if (StepError error = write_text(target, "")) return error;
  }
  if (::move_mount(tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return step_failed("move_mount");
  return {};
}

bool is_late(const std::string& target) {
  for (const char* own : {"/work", "/tmp", "/dev/shm", "/proc"}) {
    if (target == own || target.starts_with(std::string(own) + "/")) return true;
  }
  return false;
}

std::string relative(const std::string& absolute) {
  return absolute.substr(absolute.find_first_not_of('/'));
}

// A system folder that is a symbolic link (/lib -> usr/lib) stays one.
StepError attach_bind(int root, const Bind& bind) {
  os::UniqueFd link(sys_open_in_root(root, bind.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  os::UniqueFd source(sys_open_in_root(root, bind.source.c_str(), O_PATH | O_CLOEXEC));
  if (!source.valid()) return bind.optional ? StepError{} : step_failed("opening " + bind.source);
  struct stat info{};
  bool is_link = link.valid() && ::fstat(link.get(), &info) == 0 && S_ISLNK(info.st_mode);
  if (is_link && bind.source == bind.target &&
      std::filesystem::path(bind.source).parent_path() == "/") {
    std::string text(4096, '\0');
    ssize_t length = ::readlinkat(link.get(), "", text.data(), text.size());
    if (length < 0) return step_failed("reading the link " + bind.source);
    text.resize(static_cast<std::size_t>(length));
    if (::symlink(text.c_str(), relative(bind.target).c_str()) != 0 && errno != EEXIST)
      return step_failed("symlink " + bind.target);
    return {};
  }
  StepError error = attach(source.get(), bind.device, relative(bind.target));
  if (error) error.step = "binding " + bind.source + ": " + error.step;
  return error;
}

StepError fill_devices(int root) {
  for (const char* name : {"null", "zero", "full", "random", "urandom"}) {
    std::string path = std::string("dev/") + name;
    os::UniqueFd node(sys_open_in_root(root, ("/" + path).c_str(), O_PATH | O_CLOEXEC));
    if (!node.valid()) return step_failed("opening /" + path);
    if (StepError error = attach(node.get(), true, path)) return error;
  }
  for (auto [target, link] : {std::pair{"/proc/self/fd", "dev/fd"},
                              {"/proc/self/fd/0", "dev/stdin"},
                              {"/proc/self/fd/1", "dev/stdout"},
                              {"/proc/self/fd/2", "dev/stderr"}}) {
    if (::symlink(target, link) != 0) return step_failed(std::string("symlink ") + link);
  }
  return {};
}

// Into a root of our own: / is a small tmpfs with the old root at /host and the box, a mount of its
// own, at /box.
StepError raise_root() {
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return step_failed("making mounts private");
  if (::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") != 0)
    return step_failed("mounting a root");
  for (const char* folder : {"/tmp/host", "/tmp/box"}) {
    if (::mkdir(folder, 0755) != 0) return step_failed("making a root");
  }
  if (sys_pivot_root("/tmp", "/tmp/host") != 0) return step_failed("pivot_root");
  if (::chdir("/") != 0) return step_failed("chdir");
  if (::mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755") != 0)
    return step_failed("mounting the box");
  if (::chdir("/box") != 0) return step_failed("chdir");
  return {};
}

StepError fill_box(int root, const std::vector<Bind>& binds, std::vector<Bind>& late) {
  for (const char* folder : {"proc", "work", "tmp", "dev", "dev/shm", "etc", "box"}) {
    if (::mkdir(folder, 0755) != 0) return step_failed(std::string("making folder ") + folder);
  }
  if (StepError error = write_text("etc/passwd", kPasswd)) return error;
  if (StepError error = write_text("etc/group", kGroup)) return error;
  if (StepError error = fill_devices(root)) return error;
  for (const Bind& bind : binds) {
    if (is_late(bind.target)) {
      late.push_back(bind);
    } else if (StepError error = attach_bind(root, bind)) {
      return error;
    }
  }
  return {};
}

struct Writable {
  const char *source, *target;
};
constexpr std::array kWritable = {Writable{"box/work", "work"}, Writable{"box/tmp", "tmp"},
                                  Writable{"box/shm", "dev/shm"}};

// One tmpfs holds everything that the candidate can write, so that one limit counts it all.
StepError mount_writable() {
  if (::mount("tmpfs", "box", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=64,mode=755") != 0)
    return step_failed("mounting /work");
  for (const auto& [source, target] : kWritable) {
    if (::mkdir(source, 0700) != 0) return step_failed("making /work");
    if (::mount(source, target, nullptr, MS_BIND, nullptr) != 0)
      return step_failed("binding /work");
  }
  if (::umount2("box", MNT_DETACH) != 0) return step_failed("unmounting the writable folder");
  return {};
}

StepError give_writable(const SpawnRequest& request) {
  std::string options =
      fmt::format("size={},nr_inodes={}", request.limits.work_bytes, request.limits.work_inodes);
  if (::mount(nullptr, "work", nullptr, MS_REMOUNT | MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return step_failed("limiting /work");
  if (request.uid == 0) return {};
  for (const auto& [source, target] : kWritable) {
    if (::chown(target, request.uid, request.uid) != 0) return step_failed("giving /work away");
  }
  return {};
}

}  // namespace

StepError map_own_ids(uid_t uid, gid_t gid) {
  for (auto [path, text] : {std::pair{"/proc/self/setgroups", std::string("deny")},
                            {"/proc/self/uid_map", fmt::format("{0} {0} 1", uid)},
                            {"/proc/self/gid_map", fmt::format("{0} {0} 1", gid)}}) {
    os::UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) < 0)
      return step_failed(std::string("writing ") + path);
  }
  return {};
}

std::vector<Bind> standard_binds() {
  std::vector<Bind> binds;
  for (const char* path : {"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache",
                           "/etc/alternatives", "/sys/devices/system/cpu"}) {
    binds.push_back({path, path, std::string_view(path) != "/usr"});
  }
  return binds;
}

StepError BoxTemplate::build(bool user_namespace, const std::vector<Bind>& binds,
                             BoxTemplate& out) {
  uid_t uid = ::geteuid();
  gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0)) != 0)
    return step_failed("unshare");
  if (user_namespace) {
    if (StepError error = map_own_ids(uid, gid)) return error;
  }
  if (StepError error = raise_root()) return error;
  os::UniqueFd root(::open("/host", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return step_failed("opening the host's root");
  if (StepError error = fill_box(root.get(), binds, out.late_binds_)) return error;
  out.folder_.reset(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (::chroot("/host") != 0 || ::chdir("/") != 0) return step_failed("chroot");
  out.home_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder_.valid() || !out.home_.valid()) return step_failed("opening the box");
  return {};
}

StepError BoxTemplate::enter() const {
  if (::fchdir(folder_.get()) != 0) return step_failed("entering the box");
  return {};
}

void BoxTemplate::leave() const {
  // The root folder of the process cannot become unreachable; a failure would only leave the box as
  // current folder.
  [[maybe_unused]] int ignored = ::fchdir(home_.get());
}

StepError prepare_box(const BoxTemplate& box, os::UniqueFd& root) {
  root.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return step_failed("opening the host's root");
  // The current folder lies outside the root that the host chose, so its parent is the small root
  // above both.
  if (::chroot("..") != 0) return step_failed("chroot");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return step_failed("making mounts private");
  if (::mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") != 0)
    return step_failed("mounting /proc");
  if (StepError error = mount_writable()) return error;
  for (const Bind& bind : box.late_binds()) {
    if (StepError error = attach_bind(root.get(), bind)) return error;
  }
  return {};
}

StepError enter_box(os::UniqueFd root, const SpawnRequest& request) {
  if (StepError error = give_writable(request)) return error;
  for (const Bind& bind : request.binds) {
    if (StepError error = attach_bind(root.get(), bind)) return error;
  }
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, ".", 0, &read_only, sizeof read_only) != 0)
    return step_failed("making / read-only");
  if (sys_pivot_root(".", ".") != 0) return step_failed("pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return step_failed("detaching the host's root");
  if (::chdir(kWorkFolder) != 0) return step_failed("chdir /work");
  return {};
}

}  // namespace kw::sandbox
