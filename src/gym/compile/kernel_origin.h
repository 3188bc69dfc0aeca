// A kernel's name tells whose it is: the candidate's own, a library's, or ours that moves bytes.
#pragma once
#include <string_view>

#include "task/gpu_facts.h"
#include "task/launch_plan.h"

namespace kw::gym {

// function: a symbol as in a launch plan, mangled or not. A name proves nothing: machine code of a
// library under another name counts as the candidate's own.
task::KernelOrigin kernel_origin(std::string_view function);

// Gives the kernels of a call their names and origins. The call was made by this plan.
void name_kernels(const task::LaunchPlan& plan, task::GpuCall& call);

}  // namespace kw::gym
