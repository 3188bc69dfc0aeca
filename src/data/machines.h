// Machines that generated questions name.
#pragma once
#include <vector>

#include "prompt/hardware_card.h"
#include "task/candidate.h"

namespace kw::data {

// Processors for C++, with what one core of theirs has; GPUs of compute capability 9.0 for Triton.
// The facts are the makers'.
const std::vector<prompt::HardwareCard>& machines(task::Language language);

}  // namespace kw::data
