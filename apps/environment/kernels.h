// The environments of this machine's gym, or of a service's workers.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment_link/environment_server.h"
#include "gym/gym.h"
#include "gym/judge.h"
#include "gym_environment/kernel_environment.h"
#include "plan_environment/plan_environment.h"
#include "settings.h"

namespace kw::environment_program {

// The judge, and the problems that could be read.
struct OpenedGym {
  std::unique_ptr<gym::Background> trainer;  // null: there is none
  std::unique_ptr<gym::Judge> gym;           // borrows trainer
  std::unique_ptr<gym::Judge> once;          // borrows gym
  std::vector<gym_environment::NamedProblem> problems;
  std::vector<std::string> left_out;  // with the reason
};
// trainer: stands still while this machine's gym times, borrowed; null: there is none.
Result<OpenedGym> open_gym(const Settings& settings, environment_link::Trainer* trainer = nullptr);

// The judge is borrowed.
Result<std::unique_ptr<plan_environment::PlanEnvironment>> plans_of(
    const Settings& settings, gym::Judge& judge,
    std::vector<gym_environment::NamedProblem> problems);

// Reads the problems and starts the gym. Problems that cannot be read, and for plans those that the
// writer cannot write, are left out and counted in `about`; kNotFound where none is left.
Result<environment_link::ServedEnvironment> make_environment(
    const Json& settings, environment_link::Trainer* trainer = nullptr);

}  // namespace kw::environment_program
