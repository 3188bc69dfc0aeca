// For tests: a GPU executor without a sandbox, driven by the checker's own client.
#pragma once
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gym/checker/executor_client.h"
#include "gym/checker/testing/fake_workload.h"
#include "os/fd.h"
#include "os/message.h"

namespace kw::gym::testing {

// A child process, killed and reaped on destruction. It cannot be frozen.
class ChildMonitor final : public sandbox::Monitor {
 public:
  explicit ChildMonitor(pid_t pid) : pid_(pid) {}
  ~ChildMonitor() override {
    if (exit_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool can_freeze() const override { return false; }
  std::string freeze_kind() const override { return "none"; }
  Status freeze() override { return {}; }
  Status thaw() override { return {}; }
  Result<std::chrono::nanoseconds> cpu_time() override { return std::chrono::nanoseconds(0); }
  Result<sandbox::PageFaults> page_faults() override { return sandbox::PageFaults{}; }
  Result<bool> is_still() override { return true; }
  bool cpu_time_is_whole() const override { return true; }
  sandbox::ThreadTimes first_thread() override { return {}; }
  std::chrono::nanoseconds waited() override { return {}; }
  std::optional<sandbox::Exit> exited() override {
    int status = 0;
    if (exit_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return exit_;
    exit_.emplace();
    exit_->signalled = WIFSIGNALED(status);
    exit_->code = exit_->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
    return exit_;
  }

 private:
  pid_t pid_;
  std::optional<sandbox::Exit> exit_;
};

// Starts kernelwright-gpu-executor with one end of a socket as descriptor 3; gives the other end.
inline std::pair<pid_t, os::UniqueFd> start_gpu_executor() {
  os::SocketPair sockets = os::make_message_socket_pair().value();
  os::UniqueFd high(::fcntl(sockets.second.get(), F_DUPFD_CLOEXEC, 100));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, high.get(), 3);
  std::string program = KW_BINARY_DIR "/bin/kernelwright-gpu-executor";
  char* argv[] = {program.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return {pid, std::move(sockets.first)};
}

}  // namespace kw::gym::testing
