// TimingLock: the host's lock of timing on one resource, "cpu" or "gpu0", "gpu1" and so on. A
// measurement holds it alone. Checkers share it for everything else that they and their executors
// do there, so that none of that runs beside a measurement.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace kw::gym {

// One holder of the lock. There are two files: the lock, and a queue, which a holder locks while it
// waits for the lock. Without the queue, sharers would overlap for ever ahead of a holder that
// wants the lock alone. A holder that takes the lock again at once would also be ahead of all that
// wait. Not thread-safe. Destruction releases the lock, and so does the end of the process.
//
// A measurement on the CPU stops everything of ours on the machine. Each holder of a GPU's lock,
// alone or not, therefore shares the CPU's as well: several GPUs measure at once, and none beside
// the CPU. The GPU's lock is taken first. Nobody waits for a GPU while holding the CPU's lock, so
// no two holders can wait for each other.
class TimingLock {
 public:
  static constexpr std::string_view kCpu = "cpu";

  // In /run/kernelwright, or in the temporary folder for an ordinary user. The number of a GPU is
  // its place on the machine and not among the visible ones. kInvalidArgument for other resources.
  static Result<TimingLock> open(std::string_view resource = kCpu);
  static Result<TimingLock> open_in(const std::filesystem::path& folder,
                                    const std::string& prefix = "",
                                    std::string_view resource = kCpu);
  // Takes over the descriptors of another TimingLock, which is of no more use then: of the CPU, or
  // of a GPU with those of the CPU that it shares.
  TimingLock(os::UniqueFd lock, os::UniqueFd queue, std::unique_ptr<TimingLock> cpu = nullptr)
      : lock_(std::move(lock)), queue_(std::move(queue)), cpu_(std::move(cpu)) {}

  // Both wait.
  Status take_alone();
  Status take_shared();
  void give_back();
  // Whether somebody waits for it.
  bool is_wanted() const;

  int lock_fd() const { return lock_.get(); }
  int queue_fd() const { return queue_.get(); }
  // A GPU's lock has the CPU's, which it shares; the CPU's has none (null).
  const TimingLock* cpu() const { return cpu_.get(); }

 private:
  Status take(int how);

  os::UniqueFd lock_, queue_;
  std::unique_ptr<TimingLock> cpu_;  // GPUs only: shared while this one is held
};

}  // namespace kw::gym
