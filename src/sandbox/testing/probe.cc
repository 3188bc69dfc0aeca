// A hostile program for tests: `probe NAME ARGUMENTS...` tries one thing and tells the outcome by
// its exit code.
#include "sandbox/testing/probe.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using kw::sandbox::kProbeDenied;
using kw::sandbox::kProbeWorked;
using Arguments = std::vector<std::string>;

int outcome(bool worked) {
  return worked ? kProbeWorked : kProbeDenied;
}

pid_t pid_of(const std::string& text) {
  return static_cast<pid_t>(std::atoi(text.c_str()));
}

bool can_read(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY);
  char byte = 0;
  return fd >= 0 && ::read(fd, &byte, 1) >= 0;
}

int trace(const Arguments& arguments) {
  pid_t pid = pid_of(arguments[0]);
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return kProbeDenied;
  ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  return kProbeWorked;
}

// The own child, which every process may trace unless the call itself is refused.
int trace_child(const Arguments&) {
  pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  long traced = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return outcome(traced == 0);
}

int read_other_memory(const Arguments&) {
  pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  static int word = 7;
  int copy = 0;
  iovec local{&copy, sizeof copy}, remote{&word, sizeof word};
  ssize_t got = ::process_vm_readv(child, &local, 1, &remote, 1, 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return outcome(got > 0);
}

int see_process(const Arguments& arguments) {
  return outcome(can_read("/proc/" + arguments[0] + "/cmdline") &&
                 can_read("/proc/" + arguments[0] + "/environ"));
}
int see_init(const Arguments&) {
  return outcome(can_read("/proc/1/environ") || can_read("/proc/1/mem"));
}
int signal_process(const Arguments& arguments) {
  return outcome(::kill(pid_of(arguments[0]), 0) == 0);
}
int kill_init(const Arguments&) {
  ::kill(1, SIGKILL);
  ::kill(1, SIGSTOP);
  ::usleep(20'000);
  return outcome(::kill(1, 0) != 0 && errno == ESRCH);
}
int mount_tmpfs(const Arguments&) {
  return outcome(::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0);
}
int unshare_one(const Arguments& arguments) {
  return outcome(::unshare(std::atoi(arguments[0].c_str())) == 0);
}
int clone_namespace(const Arguments&) {
  long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid == 0) ::_exit(0);
  return outcome(pid > 0);
}
int clone3_call(const Arguments&) {
  std::uint64_t arguments[11] = {};
  arguments[4] = SIGCHLD;
  long pid = ::syscall(SYS_clone3, arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  return outcome(pid > 0 || errno != ENOSYS);
}
int open_socket(const Arguments& arguments) {
  return outcome(::socket(std::atoi(arguments[0].c_str()), std::atoi(arguments[1].c_str()), 0) >=
                 0);
}
int keyring(const Arguments&) {
  return outcome(::syscall(SYS_add_key, "user", "kw-probe", "x", 1, -4 /* user keyring */) >= 0);
}
int ring(const Arguments&) {
  char parameters[120] = {};
  return outcome(::syscall(SYS_io_uring_setup, 2, parameters) >= 0);
}
int system_call(const Arguments& arguments) {
  errno = 0;
  ::syscall(std::atoi(arguments[0].c_str()), -1, -1, -1, -1, -1, -1);
  return outcome(errno != EPERM);
}
int set_clock(const Arguments&) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return outcome(::clock_settime(CLOCK_REALTIME, &now) == 0);
}
int set_affinity(const Arguments&) {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return kProbeDenied;
  return outcome(::sched_setaffinity(0, sizeof set, &set) == 0);
}
int read_path(const Arguments& arguments) {
  return outcome(can_read(arguments[0]));
}
int write_path(const Arguments& arguments) {
  int fd = ::open((arguments[0] + "/kw-probe").c_str(), O_WRONLY | O_CREAT, 0600);
  bool worked = fd >= 0 && ::write(fd, "x", 1) == 1;
  if (fd >= 0) ::unlink((arguments[0] + "/kw-probe").c_str());
  return outcome(worked);
}
int identity(const Arguments& arguments) {
  uid_t real = 0, effective = 0, saved = 0;
  ::getresuid(&real, &effective, &saved);
  bool own = real == effective && real == saved && (arguments[0] == "any" || real >= 61000);
  bool no_privileges =
      ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && ::prctl(PR_CAPBSET_READ, 21, 0, 0, 0) != 1;
  return outcome(own && no_privileges && ::getgroups(0, nullptr) <= 1);
}
// Descriptors 0 to 3 and the one that lists.
int count_descriptors(const Arguments&) {
  DIR* folder = ::opendir("/proc/self/fd");
  int count = -1 - 2;  // the listing's own, "." and ".."
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  return count;
}
int count_environment(const Arguments& arguments) {
  int unknown = 0;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool known = false;
    for (const std::string& name : arguments)
      known = known || std::string(*entry).starts_with(name + "=");
    if (!known) ++unknown;
  }
  return unknown;
}

int fill_work(const Arguments&) {
  std::vector<char> block(1U << 20U, 'x');
  int fd = ::open("fill", O_WRONLY | O_CREAT, 0600);
  for (int megabyte = 0;; ++megabyte) {
    ssize_t written = ::write(fd, block.data(), block.size());
    if (written != static_cast<ssize_t>(block.size()))
      return written < 0 && errno != ENOSPC ? 255 : megabyte;
  }
}
int eat_memory(const Arguments&) {
  for (;;) {
    constexpr std::size_t kStep = 8U << 20U;
    void* block =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return kProbeDenied;
    std::memset(block, 1, kStep);
  }
}
[[noreturn]] int fork_bomb(const Arguments&) {
  for (;;) {
    if (::fork() == 0) ::setsid();
  }
}
// Daemons that nobody's child list shows, deaf to every signal that can be ignored, sleeping or
// spinning.
int daemons(const Arguments& arguments) {
  for (int i = 0; i < std::atoi(arguments[0].c_str()); ++i) {
    if (::fork() != 0) continue;
    ::setsid();
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
    if (::fork() != 0) ::_exit(0);
    for (;;) ::pause();
  }
  while (::wait(nullptr) > 0) {  // those in between: all that is left now are the daemons
  }
  if (::write(1, "ready", 5) != 5 || arguments[1] == "exit") return 0;
  for (;;) ::pause();
}
[[noreturn]] int stop_self(const Arguments&) {
  for (;;) ::raise(SIGSTOP);
}
[[noreturn]] int ignore_signals(const Arguments&) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
  for (;;) ::pause();
}
int flood(const Arguments& arguments) {
  std::string block(1U << 16U, 'y');
  for (long left = std::atol(arguments[0].c_str()); left > 0;
       left -= static_cast<long>(block.size())) {
    if (::write(1, block.data(), block.size()) < 0) return 1;
  }
  return 0;
}

// Descriptor 3 is a memory file of counters: threads and processes count up for ever, one word
// each.
[[noreturn]] int count_up(const Arguments&) {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (page == MAP_FAILED) ::_exit(1);
  auto* words = static_cast<std::atomic<std::uint64_t>*>(page);
  auto spin = [](std::atomic<std::uint64_t>& word) {
    for (;;) word.fetch_add(1, std::memory_order_relaxed);
  };
  if (::fork() == 0) {
    ::setsid();
    spin(words[1]);
  }
  std::thread([&] { spin(words[2]); }).detach();
  spin(words[0]);
  ::_exit(0);
}

// All is done by a second process: it touches 4,000 pages, counts up the second word of the memory
// file at descriptor 3, and ends when that file's first word is set; nobody waits for it.
[[noreturn]] int work_in_second_process(const Arguments&) {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (page == MAP_FAILED) ::_exit(1);
  auto* words = static_cast<std::atomic<std::uint64_t>*>(page);
  ::signal(SIGCHLD, SIG_IGN);
  if (::fork() != 0)
    for (;;) ::pause();
  constexpr std::size_t kBytes = 4000UL * 4096;
  auto* block = static_cast<char*>(
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(block, kBytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < kBytes; at += 4096) block[at] = 1;
  while (words[0].load() == 0) words[1].fetch_add(1);
  ::_exit(0);
}

// A shared object in a memory file, loaded through /proc/self/fd: how executors load candidates.
int load_library(const Arguments&) {
  return outcome(::dlopen("/proc/self/fd/3", RTLD_NOW) != nullptr);
}
int locks(const Arguments&) {
  int fd = ::open("lock", O_RDWR | O_CREAT, 0600);
  struct flock range{};
  range.l_type = F_WRLCK;
  return outcome(::flock(fd, LOCK_EX) == 0 && ::fcntl(fd, F_SETLK, &range) == 0 &&
                 ::fcntl(fd, F_SETLEASE, F_WRLCK) != 0);
}
int abstract_socket(const Arguments& arguments) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, arguments[0].data(), arguments[0].size());
  int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + arguments[0].size());
  return outcome(::connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
}
int nothing(const Arguments& arguments) {
  return arguments.empty() ? 0 : std::atoi(arguments[0].c_str());
}
int spin_for(const Arguments& arguments) {
  double seconds = std::atof(arguments[0].c_str());
  while (static_cast<double>(std::clock()) < seconds * CLOCKS_PER_SEC) {
  }
  return 0;
}
[[noreturn]] int sleep_on(const Arguments&) {
  for (;;) ::pause();
}
int crash(const Arguments&) {
  ::raise(SIGSEGV);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(const Arguments&)> probes = {
      {"ptrace", trace},
      {"ptrace_child", trace_child},
      {"process_vm", read_other_memory},
      {"see_process", see_process},
      {"see_init", see_init},
      {"signal", signal_process},
      {"kill_init", kill_init},
      {"mount", mount_tmpfs},
      {"unshare", unshare_one},
      {"clone_namespace", clone_namespace},
      {"clone3", clone3_call},
      {"socket", open_socket},
      {"keyring", keyring},
      {"io_uring", ring},
      {"syscall", system_call},
      {"set_clock", set_clock},
      {"affinity", set_affinity},
      {"read", read_path},
      {"write", write_path},
      {"identity", identity},
      {"descriptors", count_descriptors},
      {"environment", count_environment},
      {"fill", fill_work},
      {"memory", eat_memory},
      {"fork_bomb", fork_bomb},
      {"daemons", daemons},
      {"stop_self", stop_self},
      {"ignore", ignore_signals},
      {"flood", flood},
      {"count", count_up},
      {"second_process", work_in_second_process},
      {"load", load_library},
      {"locks", locks},
      {"abstract", abstract_socket},
      {"exit", nothing},
      {"spin", spin_for},
      {"sleep", sleep_on},
      {"crash", crash}};
  if (argc < 2 || !probes.contains(argv[1])) return 99;
  return probes.at(argv[1])(Arguments(argv + 2, argv + argc));
}
