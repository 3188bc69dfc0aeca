// Scalars of a launch plan as the bytes that a kernel reads.
#pragma once
#include "base/result.h"
#include "task/launch_plan.h"
#include "task/resolved_plan.h"

namespace kw::task {

// kInvalidArgument: an expression that cannot be evaluated, no such input, an input that is a
// tensor, or a number that the type does not hold (a whole number stays exact or is refused;
// floating types round to nearest). axes: axis_values(signature).
Result<ResolvedScalar> scalar_bytes(const PlanScalar& scalar, const Signature& signature,
                                    const AxisValues& axes);

}  // namespace kw::task
