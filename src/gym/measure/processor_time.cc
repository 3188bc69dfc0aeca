#include "gym/measure/processor_time.h"

#include <algorithm>

namespace kw::gym {

std::chrono::nanoseconds processor_time(const ProcessorUse& use) {
  constexpr std::chrono::nanoseconds kNone{0};
  const auto others_ran = std::max(kNone, use.all_ran - use.first_ran);
  const auto waited = std::max(use.first_waited - others_ran, use.sandbox_waited);
  const auto lost = std::clamp(waited, kNone, std::max(kNone, use.wall));
  return std::max(use.wall - lost, use.all_ran);
}

}  // namespace kw::gym
