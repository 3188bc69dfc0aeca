// Whether others use this machine: for --precise measurements.
#pragma once
#include "base/result.h"

namespace kw::gym {

// kUnavailable when others use the machine: more than a twentieth of one core, over a third of a
// second.
Status require_quiet_machine();

}  // namespace kw::gym
