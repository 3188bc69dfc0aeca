// The supervisor's side of one checker process: starts it, sends requests, answers its requests for
// the timing lease. One caller at a time. Destruction ends the process.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "gym/messages/checker_messages.h"
#include "gym/named_fds.h"
#include "os/fd.h"

namespace kw::gym {

// Timing is exclusive: acquire() returns when this checker may use the machine alone, release()
// ends that.
class ResourceLease {
 public:
  virtual ~ResourceLease() = default;
  virtual Status acquire() = 0;
  virtual void release() = 0;
};

class CheckerProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::vector<int> cpus;      // where the checker runs; empty: anywhere
    std::optional<int> device;  // the GPU whose memory it holds; nullopt: the host's memory
    int kernels = -1;           // machine code for the GPU (cuda/kernel_runner.h); -1: none
  };
  static Result<std::unique_ptr<CheckerProcess>> start(const Options& options);
  // Over a socket whose other end somebody else serves: a seam for tests.
  static std::unique_ptr<CheckerProcess> over(os::UniqueFd socket);
  ~CheckerProcess();
  CheckerProcess(const CheckerProcess&) = delete;
  CheckerProcess& operator=(const CheckerProcess&) = delete;

  // Sends the request. Requests are answered in the order in which they were sent.
  Status send(const CheckerRequest& request, const OutgoingFds& fds);
  // Serves leases until the next answer is there, which must be a `T`. The error of a request that
  // failed is returned; kUnavailable when the checker ended, kCancelled when stop was requested:
  // the process is of no use after either of these two.
  template <typename T>
  Result<T> answer(ResourceLease& lease, const std::stop_token& stop) {
    KW_TRY(CheckerAnswer answer, any_answer(lease, stop));
    if (auto* expected = std::get_if<T>(&answer)) return std::move(*expected);
    if (auto* failed = std::get_if<CheckerFailed>(&answer))
      return fail(failed->code, std::move(failed->message));
    return fail(ErrorCode::kInternal, "the checker answered another request");
  }
  // send(), then answer().
  template <typename T>
  Result<T> request(const CheckerRequest& request, const OutgoingFds& fds, ResourceLease& lease,
                    const std::stop_token& stop) {
    KW_TRY_STATUS(send(request, fds));
    return answer<T>(lease, stop);
  }

 private:
  CheckerProcess() = default;
  Result<CheckerAnswer> any_answer(ResourceLease& lease, const std::stop_token& stop);
  pid_t pid_ = -1;
  os::UniqueFd socket_;
};

}  // namespace kw::gym
