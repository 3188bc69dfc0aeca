// The fault of a launch that did not end as it should.
#pragma once
#include "gym/checker/executor.h"
#include "gym/checker/fault.h"

namespace kw::gym {

// result.end is not kDone. stage: "loading", "prepare", "a call".
Fault fault_of(const LaunchResult& result, Executor& executor, const char* stage);

}  // namespace kw::gym
