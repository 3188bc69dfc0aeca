// paid_step: from what the gym found to a step of an environment: reward, interval, facts.
#pragma once
#include <functional>
#include <optional>

#include "base/result.h"
#include "environment/environment.h"
#include "reward/execution.h"
#include "task/verdict.h"

namespace kw::gym_environment {

// Without state; any thread calls it. nullopt: nothing can be paid, which is an error of the step.
using RewardOf = std::function<std::optional<reward::Score>(const reward::Finding&)>;

// Has reward, interval and facts; who calls it says whether the episode is done. verdict: nullptr
// for an answer without code. The interval is that of the speedup put through the reward, and there
// is none where the reward does not depend on it. The error of an answer that could not be judged
// is kUnavailable for noise and for a speedup that was not measured, and kUnsupported else: there
// is no reward.
Result<environment::Step> paid_step(const RewardOf& reward, const reward::Finding& finding,
                                    const task::Verdict* verdict);

}  // namespace kw::gym_environment
