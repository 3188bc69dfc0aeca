// The cores that a judgement's processes run on.
#pragma once
#include <vector>

namespace kw::gym {

// Gives each executor thread a pinned core; the checker runs on the others, where there are any.
// If calls are timed, the executor always has the highest cores. If no calls are timed,
// judgements run beside each other, and each takes the next cores of this process in turn. Any
// thread may call.
struct CorePlan {
  std::vector<int> executor, checker;  // empty: anywhere
};
CorePlan plan_cores(int threads, bool timed);

}  // namespace kw::gym
