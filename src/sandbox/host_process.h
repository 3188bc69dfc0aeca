// The supervisor's side of a host: starts launcher or zygote and asks it for sandboxes.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/message.h"
#include "sandbox/spawn.h"

namespace kw::sandbox {

struct HostCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // all of it
  std::chrono::milliseconds start_limit{0};
};

struct Spawned {
  pid_t init = -1;
  os::UniqueFd pidfd;
};

// One host process, in a session of its own (Ctrl-C does not reach it). Threads: spawn() may be
// called from any thread. The destructor closes the socket, which ends the host and every sandbox
// it started, and waits for it.
class HostProcess {
 public:
  // Returns when the host is ready. An early end is an error with the last lines that it wrote to
  // stderr.
  static Result<std::unique_ptr<HostProcess>> start(const HostCommand& command,
                                                    const HostConfig& config);
  ~HostProcess();
  // An init that waits for its spawn request. kUnavailable, with its last lines, when the host is
  // gone: start another one.
  Result<Spawned> spawn(const InitRequest& request);
  pid_t pid() const { return pid_; }

 private:
  HostProcess(std::string program, pid_t pid, os::UniqueFd socket, os::UniqueFd errors)
      : program_(std::move(program)),
        pid_(pid),
        socket_(std::move(socket)),
        errors_(std::move(errors)) {}
  Status await_ready(std::chrono::milliseconds limit);
  Result<os::Message> ask(const InitRequest& request);
  Error with_last_words(Error error) const;
  std::string last_words() const;

  std::string program_;
  pid_t pid_;
  std::mutex mutex_;
  os::UniqueFd socket_;
  os::UniqueFd errors_;
};

}  // namespace kw::sandbox
