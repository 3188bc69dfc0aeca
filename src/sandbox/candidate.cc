// Descriptors, limits, ids, capabilities, Landlock, seccomp and exec of the candidate's process.
#include "sandbox/candidate.h"

#include <array>
#include <csignal>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sandbox/mounts.h"

namespace kw::sandbox {
namespace {

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// The kernel takes the candidate first when memory runs out.
void offer_to_out_of_memory_killer() {
  os::UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd.valid()) [[maybe_unused]]
    ssize_t ignored = ::write(fd.get(), "1000", 4);
}

StepError place_descriptors(SpawnRequest& request, os::UniqueFd& status) {
  os::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return step_failed("opening /dev/null");
  // First out of the way of the final numbers, then to them.
  struct Move {
    int from, to, flags;
  };
  int log = request.log.valid() ? request.log.get() : null.get();
  int control = request.control.valid() ? request.control.get() : null.get();
  std::vector<Move> moves = {{null.get(), 0, 0},
                             {log, 1, 0},
                             {log, 2, 0},
                             {control, 3, 0},
                             {status.get(), kStatusFd, O_CLOEXEC}};
  if (request.program.valid()) moves.push_back({request.program.get(), kProgramFd, O_CLOEXEC});
  for (Move& move : moves) {
    move.from = ::fcntl(move.from, F_DUPFD_CLOEXEC, 64);
    if (move.from < 0) return step_failed("duplicating a descriptor");
  }
  if (!request.program.valid()) ::close(kProgramFd);
  for (const Move& move : moves) {
    if (::dup3(move.from, move.to, move.flags) < 0) return step_failed("placing a descriptor");
  }
  if (::close_range(kStatusFd + 1, ~0U, 0) != 0) return step_failed("close_range");
  if (!request.control.valid()) ::close(3);
  // The numbers are owned by the layout from here on.
  for (os::UniqueFd* fd : {&request.log, &request.control, &request.program, &status})
    fd->release();
  null.release();
  return {};
}

StepError set_limit(decltype(RLIMIT_CORE) which, std::uint64_t value, const char* name) {
  rlimit present{};
  ::getrlimit(which, &present);
  rlim_t wanted = std::min<rlim_t>(value, present.rlim_max);
  rlimit limit{wanted, wanted};
  if (::setrlimit(which, &limit) != 0) return step_failed(std::string("limit ") + name);
  return {};
}

StepError set_limits(const SpawnRequest& request) {
  const Limits& limits = request.limits;
  struct Entry {
    decltype(RLIMIT_CORE) which;
    std::uint64_t value;
    const char* name;
  };
  std::vector<Entry> entries = {
      {RLIMIT_CORE, 0, "core"},
      {RLIMIT_NOFILE, limits.open_files, "nofile"},
      {RLIMIT_FSIZE, limits.file_bytes, "fsize"},
      {RLIMIT_CPU, static_cast<std::uint64_t>(limits.cpu_time.count()), "cpu"},
      {RLIMIT_STACK, limits.stack_bytes, "stack"},
      {RLIMIT_MSGQUEUE, 0, "msgqueue"},
      {RLIMIT_RTPRIO, 0, "rtprio"},
      {RLIMIT_NICE, 0, "nice"}};
  if (!request.memory_group) entries.push_back({RLIMIT_DATA, limits.memory_bytes, "data"});
  for (const Entry& entry : entries) {
    if (StepError error = set_limit(entry.which, entry.value, entry.name)) return error;
  }
  return {};
}

StepError drop_capabilities() {
  for (int capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 1) continue;
    // Without CAP_SETPCAP nothing can be dropped; then there are no capabilities to keep away from
    // either, given no_new_privs.
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
      return step_failed("dropping the bounding set");
  }
  return {};
}

StepError clear_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return step_failed("clearing capabilities");
  return {};
}

StepError change_identity(const HostWalls& walls, const SpawnRequest& request) {
  if (walls.layers.user_namespace) {
    // A user namespace of its own: its process count and its signals end here, and it owns none of
    // the box's namespaces.
    uid_t uid = ::geteuid();
    gid_t gid = ::getegid();
    if (::unshare(CLONE_NEWUSER) != 0) return step_failed("unshare user namespace");
    if (StepError error = map_own_ids(uid, gid)) return error;
  }
  // The kernel counts processes by uid and user namespace: where these are shared with others the
  // limit would hit the wrong ones. Not before the namespace is the process's own, or what waits or
  // runs outside it would count too.
  if (walls.layers.own_uid || walls.layers.user_namespace) {
    if (StepError error = set_limit(RLIMIT_NPROC, request.limits.processes, "nproc")) return error;
  }
  if (StepError error = drop_capabilities()) return error;
  if (request.uid != 0) {
    uid_t uid = request.uid;
    if (::setgroups(0, nullptr) != 0) return step_failed("setgroups");
    if (::setresgid(uid, uid, uid) != 0) return step_failed("setresgid");
    if (::setresuid(uid, uid, uid) != 0) return step_failed("setresuid");
  }
  return clear_capabilities();
}

StepError enter_file_wall(const HostWalls& walls, const SpawnRequest& request) {
  if (walls.layers.landlock_abi == 0) return {};
  LandlockRules rules;
  rules.program = request.program.valid() ? kProgramFd : -1;
  if (walls.layers.namespaces) {
    rules.readable = {"/"};
    rules.writable = {kWorkFolder, "/tmp", "/dev", "/proc"};
  } else {
    rules.readable = {"/proc", "/etc/passwd", "/etc/group", "/etc/ld.so.cache"};
    rules.writable = {request.work_folder, "/dev/null",   "/dev/zero",
                      "/dev/full",         "/dev/random", "/dev/urandom"};
    for (const std::vector<Bind>* binds : {&walls.binds, &request.binds}) {
      for (const Bind& bind : *binds)
        (bind.device ? rules.writable : rules.readable).push_back(bind.source);
    }
  }
  return enter_landlock(walls.layers.landlock_abi, rules);
}

StepError set_affinity(const std::vector<int>& cpus) {
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) return step_failed("sched_setaffinity");
  return {};
}

StepError install_filter(const std::vector<sock_filter>& instructions) {
  sock_fprog program{static_cast<unsigned short>(instructions.size()),
                     const_cast<sock_filter*>(instructions.data())};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    return step_failed("installing the system call filter");
  return {};
}

StepError read_filter(int fd, std::vector<sock_filter>& out) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return step_failed("reading the system call filter");
  out.resize(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
  std::size_t bytes = out.size() * sizeof(sock_filter);
  if (out.empty() || ::pread(fd, out.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return step_failed("reading the system call filter");
  return {};
}

}  // namespace

StepError enter_walls(const HostWalls& walls, SpawnRequest& request, os::UniqueFd& status) {
  reset_signals();
  ::setsid();
  ::umask(022);
  // The init made itself undumpable before the fork; the id maps below and the candidate's own
  // /proc/self need the flag.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  offer_to_out_of_memory_killer();
  std::vector<sock_filter> filter;
  int filter_fd = request.may_set_affinity ? walls.filter.get() : walls.filter_no_affinity.get();
  if (StepError error = read_filter(filter_fd, filter)) return error;
  bool has_program = request.program.valid();
  if (StepError error = place_descriptors(request, status)) return error;
  if (has_program) request.program.reset(kProgramFd);
  if (StepError error = set_limits(request)) return error;
  if (StepError error = change_identity(walls, request)) return error;
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return step_failed("no_new_privs");
  // Cleared by the change of uid, so only now.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return step_failed("parent-death signal");
  if (!request.work_folder.empty() && ::chdir(request.work_folder.c_str()) != 0)
    return step_failed("chdir to the work folder");
  if (StepError error = enter_file_wall(walls, request)) return error;
  if (StepError error = set_affinity(request.cpus)) return error;
  return install_filter(filter);
}

std::vector<std::pair<std::string, std::string>> sandbox_environment(const SpawnRequest& request) {
  std::string work = request.work_folder.empty() ? kWorkFolder : request.work_folder;
  std::vector<std::pair<std::string, std::string>> environment = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"LANG", "C.UTF-8"},
      {"HOME", work},
      {"USER", "sandbox"},  // its uid has no name of its own, and Python's getpass wants one
      {"TMPDIR", work}};
  for (const auto& [name, value] : request.environment) {
    std::erase_if(environment, [&](const auto& entry) { return entry.first == name; });
    environment.emplace_back(name, value);
  }
  return environment;
}

StepError execute(const SpawnRequest& request) {
  std::vector<std::string> pairs;
  for (const auto& [name, value] : sandbox_environment(request))
    pairs.push_back(name + "=" + value);
  std::vector<char*> environment, arguments;
  for (std::string& pair : pairs) environment.push_back(pair.data());
  for (const std::string& argument : request.argv)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  environment.push_back(nullptr);
  arguments.push_back(nullptr);
  if (request.argv.empty()) {
    errno = EINVAL;
  } else if (request.program.valid()) {
    ::syscall(SYS_execveat, kProgramFd, "", arguments.data(), environment.data(), AT_EMPTY_PATH);
  } else {
    ::execve(arguments[0], arguments.data(), environment.data());
  }
  return step_failed("executing " +
                     (request.argv.empty() ? std::string("nothing") : request.argv[0]));
}

}  // namespace kw::sandbox
