// In which order the others stop and go on.
#include "gym/supervisor/host_lease.h"

#include "base/log.h"

namespace kw::gym {

Status HostLease::acquire(const std::vector<const sandbox::Sandbox*>& keep_running) {
  exclusive_.lock();
  if (Status taken = lock_.take_alone(); !taken) {
    exclusive_.unlock();
    return taken;
  }
  {
    std::lock_guard guard(times_mutex_);
    since_ = Clock::now();
  }
  if (background_ != nullptr) background_->pause();
  if (auto frozen = sandboxes_.freeze_others(keep_running); !frozen)
    log::debug(frozen.error().message());
  return {};
}

// The lock last: what runs for other checkers is theirs to freeze and thaw from then on.
void HostLease::release() {
  if (auto thawed = sandboxes_.thaw_others(); !thawed) log::warning(thawed.error().message());
  if (background_ != nullptr) background_->resume();
  {
    std::lock_guard guard(times_mutex_);
    if (since_) held_before_ += Clock::now() - *since_;
    since_.reset();
  }
  lock_.give_back();
  exclusive_.unlock();
}

std::chrono::nanoseconds HostLease::held() const {
  std::lock_guard guard(times_mutex_);
  return held_before_ + (since_ ? Clock::now() - *since_ : Clock::duration(0));
}

}  // namespace kw::gym
