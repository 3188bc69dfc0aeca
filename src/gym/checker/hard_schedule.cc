#include "gym/checker/hard_schedule.h"

#include <algorithm>
#include <utility>

namespace kw::gym {
namespace {

constexpr std::uint64_t kOneIn = 4;        // halves with hard calls, while cases are left
constexpr std::uint64_t kAgainOneIn = 24;  // afterwards

template <typename T>
void shuffle(std::vector<T>& list, Rng& rng) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng.below(i)]);
}

}  // namespace

HardSchedule::HardSchedule(std::vector<std::size_t> cases, std::uint64_t secret_seed, bool is_early)
    : rng_(secret_seed), cases_(std::move(cases)) {
  shuffle(cases_, rng_);
  pending_ = cases_;
  kept_ = (cases_.size() + (is_early ? 0 : 1)) / 2;
}

// How many of the next calls are hard.
std::size_t HardSchedule::wanted(std::size_t calls, Phase phase) {
  const std::size_t some = std::max<std::size_t>(1, calls / 2);
  if (phase == Phase::kClosing) return std::min(some, pending_.size());
  if (pending_.size() > kept_) {
    const bool is_now = phase == Phase::kWarmUp || rng_.below(kOneIn) == 0;
    return is_now ? std::min(some, pending_.size() - kept_) : 0;
  }
  return !cases_.empty() && rng_.below(kAgainOneIn) == 0 ? 1 : 0;
}

std::vector<HardSchedule::Call> HardSchedule::next(std::size_t calls, Phase phase) {
  std::vector<Call> out(calls);
  const std::size_t hard = wanted(calls, phase);
  for (std::size_t i = 0; i < hard; ++i) {
    if (phase == Phase::kClosing || pending_.size() > kept_) {
      out[i] = pending_.back();
      pending_.pop_back();
    } else {
      out[i] = cases_[rng_.below(cases_.size())];
    }
  }
  shuffle(out, rng_);
  return out;
}

}  // namespace kw::gym
