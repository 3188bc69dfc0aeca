// Runs a tool with its output on a pipe. Only for programs of the machine that we trust: candidates
// run in sandboxes.
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernelwright/tools.h"
#include "os/fd.h"

namespace kw::front {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutput = 1U << 20U;

// Reaps on every way out; kill() first where the tool may still run.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    static_cast<void>(wait());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

Result<pid_t> spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t pid = 0;
  int error = ::posix_spawnp(&pid, argv[0].c_str(), &actions, nullptr, arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(ErrorCode::kNotFound, "cannot run {}", argv[0]);
  return pid;
}

// Until end of file; kDeadlineExceeded when that takes too long. What is over the limit is read and
// dropped.
Status read_output(int fd, Clock::time_point deadline, std::string& out) {
  std::array<char, 16384> buffer{};
  while (true) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    int ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(ErrorCode::kDeadlineExceeded, "no answer in time");
    ssize_t bytes = ::read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return {};
    out.append(buffer.data(), std::min(static_cast<std::size_t>(bytes), kMaxOutput - out.size()));
  }
}

}  // namespace

Result<ToolOutput> ProcessRunner::run(const std::vector<std::string>& argv,
                                      std::chrono::milliseconds timeout) {
  KW_TRY(os::Pipe pipe, os::make_pipe());
  KW_TRY(pid_t pid, spawn(argv, pipe.write_end.get()));
  Child child(pid);
  pipe.write_end.reset();
  ToolOutput output;
  auto read = read_output(pipe.read_end.get(), Clock::now() + timeout, output.out);
  if (!read) return tl::unexpected(std::move(read).error().with_context(argv[0]));
  output.exit_code = child.wait();
  return output;
}

}  // namespace kw::front
