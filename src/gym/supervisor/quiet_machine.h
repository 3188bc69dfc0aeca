// Whether others use this machine: for --precise measurements.
#pragma once
#include <string>

#include "base/result.h"

namespace kw::gym {

// kUnavailable when others use the machine: more than a twentieth of one core, over a third of a
// second.
Status require_quiet_machine();

// Seconds of core time that were spent on anything but idling, all cores together, by the text of
// /proc/stat. kInternal for a text without the line of all cores.
Result<double> busy_seconds(const std::string& proc_stat, long ticks_per_second);
// The same answer by how many cores others used on average.
Status require_quiet(double busy_cores);

}  // namespace kw::gym
