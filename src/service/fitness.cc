#include "service/fitness.h"

#include <algorithm>

#include "os/pause.h"

namespace kw::service {

void Fitness::suspect() {
  std::lock_guard lock(mutex_);
  is_suspect_ = true;
}

Status Fitness::look(const std::stop_token& stop) {
  if (options_.look) KW_TRY_STATUS(options_.look());
  {
    std::lock_guard lock(mutex_);
    if (!is_suspect_) return {};
    is_suspect_ = false;  // what fails from now on counts anew
  }
  if (!options_.probe) return {};
  const Status probed = options_.probe(stop);
  if (!probed) suspect();
  return probed;
}

bool Fitness::wait(const std::stop_token& stop, const std::function<void(const Status&)>& tell) {
  std::lock_guard lock(looking_);
  while (!stop.stop_requested()) {
    const Status found = look(stop);
    if (stop.stop_requested()) return false;
    if (!found || is_unfit_) tell(found);
    is_unfit_ = !found.has_value();
    if (found) {
      pause_ = options_.first_pause;
      return true;
    }
    (void)os::pause(pause_, stop);
    pause_ = std::min(2 * pause_, options_.longest_pause);
  }
  return false;
}

}  // namespace kw::service
