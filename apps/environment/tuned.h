// write_tuned() runs the writer's own tuner with the kernels, judge and rewards of a policy of
// plans.
#pragma once
#include <cstdint>
#include <ostream>

#include "base/json.h"
#include "base/result.h"

namespace kw::environment_program {

// A row a problem, {"task", "plans", "rewards"}: what the tuner judged in its order, at most
// `count` kernels. settings: the table [environment], kind plans. Of kernels whose judgement failed
// the reward is null.
Status write_tuned(const Json& settings, std::uint64_t count, std::ostream& out);

}  // namespace kw::environment_program
