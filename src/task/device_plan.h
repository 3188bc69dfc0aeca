// The launch plan of a device-only candidate (cuda, ptx, cubin): its launches on one module.
#pragma once
#include "base/result.h"
#include "task/candidate.h"
#include "task/launch_plan.h"
#include "task/signature.h"

namespace kw::task {

// module: what the candidate's sources were compiled to. kInvalidArgument: no launches, scratch
// named as something else is, or an argument that nothing is named as (with the nearest name).
// Launches without arguments get the signature's: inputs, statics, outputs, then the variable axes
// as 64-bit integers. Host scalars go by value: bool as bool, floating types narrower than float as
// float, others in their declared type.
Result<LaunchPlan> device_plan(const Candidate& candidate, const Signature& signature,
                               PlanModule module);

}  // namespace kw::task
