// The CPU target: candidates in C++ and Python, judged by a checker process against a sandboxed
// oracle and baseline (docs/protocol.md).
#pragma once
#include <memory>

#include "base/result.h"
#include "gym/gym.h"
#include "gym/supervisor/launchers.h"

namespace kw::gym {

// Starts the launcher; kIsolationTooWeak when the level asked for cannot be reached. start_one: as
// Launchers::start() takes it.
Result<std::unique_ptr<Target>> make_cpu_target(
    GymOptions options, Launchers::Start start_one = sandbox::Launcher::start);

}  // namespace kw::gym
