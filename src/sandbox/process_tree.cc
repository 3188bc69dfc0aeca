// /proc readers, and loops that stop or kill until nothing is left.
#include "sandbox/process_tree.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::sandbox {
namespace {

constexpr auto kStopLimit = std::chrono::seconds(20);

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), &::closedir);
  if (!handle) return numbers;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is nobody else's
  while (const dirent* entry = ::readdir(handle.get())) {
    char* end = nullptr;
    long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0') numbers.push_back(static_cast<pid_t>(number));
  }
  return numbers;
}

struct Stat {
  char state = 'X';
  pid_t parent = 0;
};

// The name in brackets is the process's own choice, so fields start behind the last bracket.
Stat read_stat(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  std::string text(1024, '\0');
  ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got <= 0) return {};
  text.resize(static_cast<std::size_t>(got));
  std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 4 >= text.size()) return {};
  return {text[bracket + 2],
          static_cast<pid_t>(std::strtol(text.c_str() + bracket + 4, nullptr, 10))};
}

bool at_rest(char state) {
  return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

bool is_dead(pid_t pid) {
  char state = read_stat("/proc/" + std::to_string(pid) + "/stat").state;
  return state == 'Z' || state == 'X';
}

// No thread of the process can run: stopped, traced, dead or gone.
bool is_stopped(pid_t pid) {
  std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (pid_t task : numbers_in(tasks)) {
    if (!at_rest(read_stat(tasks + "/" + std::to_string(task) + "/stat").state)) return false;
  }
  return true;
}

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (pid_t pid : numbers_in("/proc")) {
    children.emplace(read_stat("/proc/" + std::to_string(pid) + "/stat").parent, pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    pid_t parent = open.back();
    open.pop_back();
    auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

// In a pid namespace one call reaches all processes at once, also those that multiply.
void signal_all(Scope scope, int signal) {
  if (scope == Scope::kPidNamespace) {
    ::kill(-1, signal);
  } else {
    for (pid_t pid : processes(scope)) ::kill(pid, signal);
  }
}

}  // namespace

std::vector<pid_t> processes(Scope scope) {
  if (scope == Scope::kDescendants) return descendants(::getpid());
  std::vector<pid_t> pids = numbers_in("/proc");
  std::erase(pids, ::getpid());
  return pids;
}

bool stop_all(Scope scope) {
  auto deadline = std::chrono::steady_clock::now() + kStopLimit;
  signal_all(scope, SIGSTOP);
  int quiet_passes = 0;
  while (quiet_passes < 2) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    bool quiet = true;
    for (pid_t pid : processes(scope)) {
      if (is_stopped(pid)) continue;
      ::kill(pid, SIGSTOP);
      quiet = false;
    }
    quiet_passes = quiet ? quiet_passes + 1 : 0;
    if (!quiet) ::sched_yield();
  }
  return true;
}

bool all_stopped(Scope scope) {
  return std::ranges::all_of(processes(scope), is_stopped);
}

void continue_all(Scope scope) {
  signal_all(scope, SIGCONT);
}

void kill_all(Scope scope) {
  while (true) {
    bool alive = false;
    for (pid_t pid : processes(scope)) {
      if (is_dead(pid)) continue;
      ::kill(pid, SIGKILL);
      alive = true;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (!alive) return;
    ::sched_yield();
  }
}

}  // namespace kw::sandbox
