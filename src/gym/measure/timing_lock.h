// TimingLock: the host's lock of timing. Whoever measures has it alone; checkers share it for all
// else that they and their executors do, so that nothing of it runs beside a measurement.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "os/fd.h"

namespace kw::gym {

// One party. Two files: the lock, and a queue, which each holds while it waits for the lock.
// Without the queue those who share would overlap for ever before one who wants it alone, and who
// takes it again as soon as it is given back would be ahead of all that wait. Not thread-safe. The
// end of the process gives back, and so does destruction.
class TimingLock {
 public:
  // In /run/kernelwright, or in the temporary folder for an ordinary user.
  static Result<TimingLock> open();
  static Result<TimingLock> open_in(const std::filesystem::path& folder,
                                    const std::string& prefix = "");
  // Of the descriptors of another TimingLock, which is of no more use then.
  TimingLock(os::UniqueFd lock, os::UniqueFd queue)
      : lock_(std::move(lock)), queue_(std::move(queue)) {}

  // Both wait.
  Status take_alone();
  Status take_shared();
  void give_back();
  // Whether somebody waits for it.
  bool is_wanted() const;

  int lock_fd() const { return lock_.get(); }
  int queue_fd() const { return queue_.get(); }

 private:
  Status take(int how);

  os::UniqueFd lock_, queue_;
};

}  // namespace kw::gym
