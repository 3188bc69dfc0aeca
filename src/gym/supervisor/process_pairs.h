// Measurements over several process pairs: one report out of several, and for --precise a quiet
// machine first.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace kw::gym {

// kUnavailable when others use the machine: more than a twentieth of one core, over a third of a
// second.
Status require_quiet_machine();

// Adds the report of one more process pair to that of the first ones: samples and counts together,
// the worse outcome, the larger errors.
void add_process_pair(Json& report, const Json& more);

// A passed report of which too many samples were dropped becomes noisy, and says why.
void refuse_noise(Json& report);

}  // namespace kw::gym
