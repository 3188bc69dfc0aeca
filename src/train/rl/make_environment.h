// The environment that the settings of a run ask for.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "environment/environment.h"
#include "os/standstill.h"
#include "train/rl/rl_settings.h"

namespace kw::train {

using Say = std::function<void(const std::string&)>;

// The gym's is a process of its own, which is started here and ends with the environment. It may
// ask for a standstill, which is borrowed. say hears what it says of itself.
Result<std::unique_ptr<environment::Environment>> make_environment(const RlSettings& settings,
                                                                   os::Standstill& standstill,
                                                                   const Say& say,
                                                                   const std::stop_token& stop);

}  // namespace kw::train
