// The CPU target: candidates in C++ and Python, judged by a checker process against a sandboxed
// oracle and baseline (docs/protocol.md).
#pragma once
#include <memory>

#include "base/result.h"
#include "gym/gym.h"

namespace kw::gym {

// Starts the launcher; kIsolationTooWeak when the level asked for cannot be reached.
Result<std::unique_ptr<Target>> make_cpu_target(GymOptions options);

}  // namespace kw::gym
