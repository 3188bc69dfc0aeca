// Kernel interfaces that glibc 2.36 does not wrap, or that must not go through its wrappers, and a
// failure that names its step.
#pragma once
#include <cerrno>
#include <cstdint>
#include <string>

#include <linux/openat2.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace kw::sandbox {

// Why a step between fork and exec failed. Carried as a value: after the fork there is nobody to
// throw to.
struct StepError {
  int error_number = 0;
  std::string step;
  explicit operator bool() const { return error_number != 0; }
};
inline StepError step_failed(std::string step) {
  return {errno == 0 ? EINVAL : errno, std::move(step)};
}

inline int sys_pivot_root(const char* new_root, const char* put_old) {
  return static_cast<int>(::syscall(SYS_pivot_root, new_root, put_old));
}
inline int sys_open_in_root(int root, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_IN_ROOT;
  return static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
}
inline pid_t sys_clone3(clone_args& args) {
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}
inline int sys_pidfd_open(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}
inline int sys_pidfd_send_signal(int pidfd, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

}  // namespace kw::sandbox
