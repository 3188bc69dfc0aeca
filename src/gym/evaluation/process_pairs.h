// Measurements over several process pairs: one report out of several.
#pragma once
#include "gym/messages/workload_report.h"

namespace kw::gym {

// Adds the report of one more process pair to that of the first ones: samples and counts together,
// the worse outcome, the larger errors.
void add_process_pair(WorkloadReport& report, const WorkloadReport& more);

// A passed report of which too many samples were dropped becomes noisy, and says why.
void refuse_noise(WorkloadReport& report);

}  // namespace kw::gym
