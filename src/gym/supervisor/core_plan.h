// Which cores a judgement's processes run on.
#pragma once
#include <vector>

namespace kw::gym {

// One pinned core an executor thread; the checker runs on the others, where there are any. Where
// calls are timed the executor has always the highest cores. Where none is, judgements run beside
// each other: each takes the next cores of this process's in turn. Any thread may call.
struct CorePlan {
  std::vector<int> executor, checker;  // empty: anywhere
};
CorePlan plan_cores(int threads, bool timed);

}  // namespace kw::gym
