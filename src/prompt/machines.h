// Machines whose facts are known, for prompts about others than this one.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "prompt/hardware_card.h"
#include "task/candidate.h"

namespace kw::prompt {

// Processors, with what one core of theirs has; for Triton GPUs. The facts are the makers'.
const std::vector<HardwareCard>& known_machines(task::Language language);

// The one whose name has all the words of `name`, whatever their case; of several that with the
// shortest name. kInvalidArgument names those that are known.
Result<HardwareCard> machine_named(task::Language language, std::string_view name);

}  // namespace kw::prompt
