// The timing lease: one measurement at a time on the host (an advisory file lock), with our own
// other sandboxes frozen meanwhile.
#pragma once
#include <mutex>

#include "base/result.h"
#include "gym/supervisor/checker_process.h"
#include "gym/supervisor/launchers.h"
#include "os/fd.h"

namespace kw::gym {

// Shared by all evaluations of a gym; thread-safe.
class HostLease {
 public:
  // Opens /run/kernelwright/timing.lock, or a file in the temporary folder for an ordinary user.
  static Result<std::unique_ptr<HostLease>> open(Launchers* launchers);

  Status acquire(const std::vector<const sandbox::Sandbox*>& keep_running);
  void release();

 private:
  HostLease(os::UniqueFd lock_file, Launchers* launchers)
      : lock_file_(std::move(lock_file)), launchers_(launchers) {}
  os::UniqueFd lock_file_;
  Launchers* launchers_;  // borrowed
  std::mutex exclusive_;  // held from acquire() to release()
};

// The lease of one evaluation: its own sandboxes stay runnable (their checker freezes them itself).
class EvaluationLease : public TimingLease {
 public:
  EvaluationLease(HostLease& host, std::vector<const sandbox::Sandbox*> own)
      : host_(host), own_(std::move(own)) {}
  Status acquire() override { return host_.acquire(own_); }
  void release() override { host_.release(); }

 private:
  HostLease& host_;
  std::vector<const sandbox::Sandbox*> own_;
};

}  // namespace kw::gym
