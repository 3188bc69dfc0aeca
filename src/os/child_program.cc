#include "os/child_program.h"

#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/wait_status.h"

namespace kw::os {
namespace {

// Owns what posix_spawn wants to be destroyed.
struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

Result<ChildProgram> ChildProgram::start(const std::vector<std::string>& argv) {
  KW_TRY(SocketPair pair, make_socket_pair());
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  SpawnSettings settings;
  // Onto itself too: then the descriptor is no longer closed by exec.
  ::posix_spawn_file_actions_adddup2(&settings.actions, pair.second.get(), kSocket);
  ::posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, words[0], &settings.actions, &settings.attributes,
                                  words.data(), ::environ);
  if (error != 0) return fail_errno(error, "cannot start " + argv[0]);
  return ChildProgram(pid, std::move(pair.first));
}

ChildProgram::ChildProgram(ChildProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), socket_(std::move(other.socket_)) {}

ChildProgram::~ChildProgram() {
  static_cast<void>(wait(std::chrono::milliseconds(0)));
}

void ChildProgram::pause() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGSTOP);
  siginfo_t state{};
  // It stays to be waited for.
  while (::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

void ChildProgram::resume() {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

std::string ChildProgram::wait(std::chrono::milliseconds grace) {
  constexpr std::chrono::milliseconds kPause{5};
  if (pid_ <= 0) return "ended before";
  resume();
  const auto deadline = std::chrono::steady_clock::now() + grace;
  int status = 0;
  for (bool killed = false;;) {
    const pid_t ended = ::waitpid(pid_, &status, killed ? 0 : WNOHANG);
    if (ended == pid_) break;
    if (ended < 0 && errno != EINTR) break;  // somebody else has reaped it
    if (killed) continue;
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(pid_, SIGKILL);
      killed = true;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  pid_ = 0;
  return os::ending_of(status);
}

// The signal comes when the thread ends that started us, too: then it ends a pause early at most.
void continue_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

}  // namespace kw::os
