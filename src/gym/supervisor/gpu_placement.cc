#include "gym/supervisor/gpu_placement.h"

#include <algorithm>

namespace kw::gym {

GpuPlacement::Seat GpuPlacement::take(const std::function<bool(std::size_t)>& is_ready) {
  std::lock_guard lock(mutex_);
  const std::size_t fewest = *std::ranges::min_element(judgements_);
  std::size_t chosen = judgements_.size();
  for (std::size_t gpu = 0; gpu < judgements_.size(); ++gpu) {
    if (judgements_[gpu] != fewest) continue;
    if (is_ready(gpu)) {
      chosen = gpu;
      break;
    }
    if (chosen == judgements_.size()) chosen = gpu;
  }
  ++judgements_[chosen];
  return {*this, chosen};
}

void GpuPlacement::leave(std::size_t gpu) {
  std::lock_guard lock(mutex_);
  --judgements_[gpu];
}

}  // namespace kw::gym
