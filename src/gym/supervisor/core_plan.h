// The cores that a judgement's processes run on.
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace kw::gym {

struct CorePlan {
  std::vector<int> executor, checker;  // empty: anywhere
};

// Judgements that are timed beside each other, on GPUs of one machine, have cores of their own.
// Those that take turns, as all on a CPU do, share one place.
struct TimedPlace {
  int place = 0, places = 1;  // which of how many
};

// Each executor thread has a pinned core: the highest ones for the first place, the next ones for
// the next, all of them ascending. The checker runs on cores of no place, where there are any. With
// too few cores for all places each has the highest.
CorePlan timed_cores(std::span<const int> cores, int threads, const TimedPlace& at);

// Plans with the cores of this process. nullopt: calls are not timed, judgements run beside each
// other, and each takes the next cores in turn. Any thread may call.
CorePlan plan_cores(int threads, const std::optional<TimedPlace>& timed);

}  // namespace kw::gym
