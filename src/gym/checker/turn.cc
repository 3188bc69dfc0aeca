// Slices of a turn.
#include "gym/checker/turn.h"

namespace kw::gym {

Status Turn::begin() {
  KW_TRY_STATUS(lock_.take_shared());
  has_begun_ = true;
  since_ = Clock::now();
  return {};
}

void Turn::end() {
  if (std::exchange(has_begun_, false)) lock_.give_back();
}

Result<std::chrono::nanoseconds> Turn::make_way(sandbox::Monitor* running) {
  constexpr std::chrono::nanoseconds kNotAtAll{0};
  if (!has_begun_ || (running != nullptr && !running->can_freeze())) return kNotAtAll;
  if (Clock::now() < since_ + slice_ || !lock_.is_wanted()) return kNotAtAll;
  if (running != nullptr) KW_TRY_STATUS(running->freeze());
  const auto from = Clock::now();  // on a busy machine, what is to freeze works on for a while
  end();
  KW_TRY_STATUS(begin());
  if (running != nullptr) KW_TRY_STATUS(running->thaw());
  return since_ - from;
}

}  // namespace kw::gym
