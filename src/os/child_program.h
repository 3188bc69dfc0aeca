// A program of ours as a child process, with a socket between the two.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "os/fd.h"

namespace kw::os {

// One thread.
class ChildProgram {
 public:
  static constexpr int kSocket = 3;  // the child's end, as the child has it

  // argv[0] is a path. Input comes from /dev/null, errors go where ours go. The child is a process
  // group of its own, so that Ctrl-C reaches us alone; it sees our end by the socket's. kNotFound.
  static Result<ChildProgram> start(const std::vector<std::string>& argv);
  ChildProgram(ChildProgram&& other) noexcept;
  ChildProgram& operator=(ChildProgram&&) = delete;
  ~ChildProgram();  // kills it, unless it has ended

  UniqueFd take_socket() { return std::move(socket_); }
  // Stops it, and returns when nothing of it runs any more; until resume(). When our process is
  // killed meanwhile, the child goes on only if it asked for that: continue_with_parent().
  void pause();
  void resume();
  // How it ended: "exit code 2", "signal 9 (Killed)". Killed when it does not end within `grace`.
  std::string wait(std::chrono::milliseconds grace);

 private:
  ChildProgram(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_ = 0;  // 0: has ended
  UniqueFd socket_;
};

// In the child: whatever ends the parent, a paused child goes on then, and sees the socket's end.
void continue_with_parent();

}  // namespace kw::os
