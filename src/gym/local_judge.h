// The gym of this machine as a Judge.
#pragma once
#include <memory>

#include "base/result.h"
#include "gym/judge.h"

namespace kw::gym {

// Starts the gym: the errors are those of Gym::start().
Result<std::unique_ptr<Judge>> start_local_judge(GymOptions options);

}  // namespace kw::gym
