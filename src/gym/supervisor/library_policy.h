// The library policy on a Triton candidate: whether its own kernels did the work.
#pragma once
#include <string_view>

#include "base/json.h"
#include "gym/compile/triton_build.h"
#include "task/problem.h"

namespace kw::gym {

// Changes a passed workload's report (docs/formats/evidence.md) to a violation where the policy is
// broken, and notes the kernels that ran, by name, in "kernels" and a diagnostic.
//   ghost_kernel       no Triton kernel ran
//   uncompiled_kernel  a kernel ran in the interpreter that was not compiled for the GPU
//   library_fallback   kernel_only: operators of torch computed as well
// `anything` allows all of it. A report of another outcome only gets the names.
void apply_library_policy(Json& report, const TritonBuild& build, task::Library library);

// Makes a passed workload a violation: the outputs are right although no kernel wrote anything.
void report_token_kernel(Json& report);

}  // namespace kw::gym
