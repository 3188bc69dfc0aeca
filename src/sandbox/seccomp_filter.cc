// The deny list, through libseccomp. Why a deny list and not an allow list: docs/sandbox.md.
#include "sandbox/seccomp_filter.h"

#include <array>
#include <csignal>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

namespace kw::sandbox {
namespace {

// Refused with EPERM whatever their arguments: ways around the namespaces, into other processes, to
// the clock or to rare kernel code.
constexpr std::array kRefused = {"keyctl",
                                 "add_key",
                                 "request_key",  // keyrings outlive a sandbox and cross namespaces
                                 "io_uring_setup",
                                 "io_uring_enter",
                                 "io_uring_register",  // runs operations behind the filter's back
                                 "ptrace",
                                 "process_vm_readv",
                                 "process_vm_writev",
                                 "pidfd_getfd",
                                 "kcmp",
                                 "process_madvise",
                                 "bpf",
                                 "perf_event_open",
                                 "userfaultfd",
                                 "fanotify_init",
                                 "inotify_init",
                                 "inotify_init1",  // tell who opens the host's files
                                 "lookup_dcookie",
                                 "mount",
                                 "umount2",
                                 "fsopen",
                                 "fsconfig",
                                 "fsmount",
                                 "fspick",
                                 "move_mount",
                                 "open_tree",
                                 "mount_setattr",
                                 "pivot_root",
                                 "chroot",
                                 "unshare",
                                 "setns",
                                 "name_to_handle_at",
                                 "open_by_handle_at",
                                 "kexec_load",
                                 "kexec_file_load",
                                 "init_module",
                                 "finit_module",
                                 "delete_module",
                                 "swapon",
                                 "swapoff",
                                 "reboot",
                                 "acct",
                                 "quotactl",
                                 "quotactl_fd",
                                 "syslog",
                                 "vhangup",
                                 "clock_settime",
                                 "settimeofday",
                                 "adjtimex",
                                 "clock_adjtime",
                                 "stime",
                                 "iopl",
                                 "ioperm",
                                 "modify_ldt",
                                 "sethostname",
                                 "setdomainname",
                                 "nfsservctl",
                                 "uselib",
                                 "sysfs",
                                 "_sysctl"};
// Timers that send a signal of one's choice, which stands behind a pointer.
constexpr std::array kTimers = {"timer_create"};
constexpr std::array kSystemVIpc = {"shmget", "shmat",  "shmctl", "msgget",
                                    "msgctl", "semget", "semctl", "mq_open"};
constexpr std::array kAffinity = {"sched_setaffinity"};
constexpr std::uint64_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                          CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                          CLONE_NEWNET;
// Newer than the oldest libseccomp that we build with; the numbers are the same on every
// architecture.
constexpr int kOpenTreeAttr = 467;

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  template <typename Names>
  void refuse(const Names& names) {
    for (const char* name : names) {
      int number = seccomp_syscall_resolve_name(name);
      if (number >= 0) add(SCMP_ACT_ERRNO(EPERM), number);  // negative: not on this architecture
    }
  }
  // All comparisons must hold.
  void add(std::uint32_t action, int number, std::vector<scmp_arg_cmp> compare = {}) {
    note(seccomp_rule_add_array(filter_, action, number, static_cast<unsigned>(compare.size()),
                                compare.data()));
  }
  void note(int result) {
    if (result < 0 && error_ == 0) error_ = -result;
  }
  int error() const { return error_; }

 private:
  scmp_filter_ctx filter_;
  int error_ = 0;
};

scmp_arg_cmp argument(unsigned index, scmp_compare compare, std::uint64_t a, std::uint64_t b = 0) {
  return {index, compare, a, b};
}

// Locks on inodes that several sandboxes see (everything under /usr) would be a channel between
// them. Programs of honest candidates (Triton's and torch's caches) lock files of their own /work,
// alone: they are told that it worked.
void add_locks(Rules& rules) {
  rules.add(SCMP_ACT_ERRNO(0), SCMP_SYS(flock));
  for (int command : {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}) {
    rules.add(SCMP_ACT_ERRNO(0), SCMP_SYS(fcntl),
              {argument(1, SCMP_CMP_EQ, static_cast<std::uint64_t>(command))});
  }
  for (int command : {F_GETLK, F_OFD_GETLK, F_SETLEASE, F_GETLEASE, F_NOTIFY}) {
    rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl),
              {argument(1, SCMP_CMP_EQ, static_cast<std::uint64_t>(command))});
  }
}

// A sandbox without a cgroup freezer is stopped by SIGSTOP. The kernel must not send SIGCONT later:
// not for a timer, not for a file that is ready, not for a process that ends. SIGKILL by the first
// two would be such an end.
void add_signals(Rules& rules) {
  rules.refuse(kTimers);
  rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), {argument(1, SCMP_CMP_EQ, F_SETSIG)});
  rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl),
            {argument(0, SCMP_CMP_EQ, PR_SET_PDEATHSIG), argument(1, SCMP_CMP_EQ, SIGCONT)});
  rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
            {argument(0, SCMP_CMP_MASKED_EQ, CSIGNAL, SIGCONT)});
}

void add_rules(Rules& rules, const FilterOptions& options) {
  rules.refuse(kRefused);
  if (!options.system_v_ipc) rules.refuse(kSystemVIpc);
  if (!options.may_set_affinity) rules.refuse(kAffinity);
  rules.add(SCMP_ACT_ERRNO(EPERM), kOpenTreeAttr);
  // clone3 takes its flags behind a pointer; without it glibc uses clone, whose flags the filter
  // sees.
  rules.add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  for (std::uint64_t bit = 1; bit <= kNamespaceFlags; bit <<= 1U) {
    if ((kNamespaceFlags & bit) != 0)
      rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
                {argument(0, SCMP_CMP_MASKED_EQ, bit, bit)});
  }
  for (int number : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    rules.add(SCMP_ACT_ERRNO(EAFNOSUPPORT), number, {argument(0, SCMP_CMP_NE, AF_UNIX)});
  }
  rules.add(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(personality), {argument(0, SCMP_CMP_NE, 0)});
  add_locks(rules);
  add_signals(rules);
}

}  // namespace

Result<os::UniqueFd> compile_filter(const FilterOptions& options) {
  Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!filter) return fail(ErrorCode::kUnsupported, "libseccomp cannot make a filter");
  Rules rules(filter.get());
  rules.note(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  rules.note(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  add_rules(rules, options);
  if (rules.error() != 0)
    return fail_errno(rules.error(), "cannot add a rule to the system call filter");
  os::UniqueFd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "cannot make a memory file");
  if (int result = seccomp_export_bpf(filter.get(), file.get()); result < 0)
    return fail_errno(-result, "cannot compile the system call filter");
  return file;
}

}  // namespace kw::sandbox
