// Runs a program and reads what it prints.
#include "gym/compile/program_output.h"

#include <array>
#include <cerrno>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "os/fd.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxOutput = 1ULL << 20U;

}  // namespace

Result<std::string> program_output(std::vector<std::string> words) {
  KW_TRY(os::Pipe pipe, os::make_pipe());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<std::string, 2> environment = {"PATH=/usr/bin:/bin:/usr/local/bin", "LC_ALL=C"};
  std::array<char*, 3> envp = {environment[0].data(), environment[1].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe.write_end.get(), STDERR_FILENO);
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot run " + words[0]);
  pipe.write_end.reset();
  auto text = os::read_to_end(pipe.read_end.get(), kMaxOutput);
  pipe.read_end.reset();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text && status != 0) {
    return fail(ErrorCode::kUnsupported, "{} failed: {}", join(words, " "), printable(*text, 400));
  }
  return text;
}

}  // namespace kw::gym
