// The supervisor's side of one checker process: starts it, sends requests, answers its requests for
// the timing lease. One caller at a time. Destruction ends the process.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"

namespace kw::gym {

// Timing is exclusive: acquire() returns when this checker may use the machine alone, release()
// ends that.
class TimingLease {
 public:
  virtual ~TimingLease() = default;
  virtual Status acquire() = 0;
  virtual void release() = 0;
};

class CheckerProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::vector<int> cpus;  // where the checker runs; empty: anywhere
  };
  static Result<std::unique_ptr<CheckerProcess>> start(const Options& options);
  ~CheckerProcess();
  CheckerProcess(const CheckerProcess&) = delete;
  CheckerProcess& operator=(const CheckerProcess&) = delete;

  // send(), then answer().
  Result<Json> request(const Json& body, const std::vector<int>& fds, TimingLease& lease,
                       const std::stop_token& stop);
  // Requests are answered in the order in which they were sent.
  Status send(const Json& body, const std::vector<int>& fds);
  // Serves leases until the next answer is there. A large answer comes as a memory file and is read
  // from it. kUnavailable when the checker ended, kCancelled when stop was requested: the process
  // is of no use after either.
  Result<Json> answer(TimingLease& lease, const std::stop_token& stop);

 private:
  CheckerProcess() = default;
  pid_t pid_ = -1;
  os::UniqueFd socket_;
};

}  // namespace kw::gym
