// A shape that no workload announces. Where a problem's shape contract allows any axis values
// (Policy::any_shape), each candidate is checked at one such shape too, so that code which knows
// the announced sizes alone is wrong.
#pragma once
#include <string>
#include <string_view>

#include "task/problem.h"
#include "task/target.h"

namespace kw::gym {

// The problem with one workload more for the target, its last, checked and not timed; as it is
// where its contract does not allow that, or where inputs are not drawn. Of two shapes of the
// problem the candidate's hash decides which: one of small odd sizes with an axis of 1, and one
// with an axis beyond what a block, or on a GPU what 65,535 blocks hold. The hash of the problem
// stays. Pure; any thread.
task::Problem with_hidden_shape(task::Problem problem, task::Target target,
                                std::string_view candidate_hash);

}  // namespace kw::gym
