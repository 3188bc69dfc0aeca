// Machines whose facts are known, for prompts about others than this one.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "prompt/hardware_card.h"

namespace kw::prompt {

// The facts are the makers'. Of a processor what one of its cores has.
const std::vector<HardwareCard>& known_processors();
const std::vector<HardwareCard>& known_gpus();

// The one of `known` whose name has all the words of `name`, whatever their case; of several that
// with the shortest name. kInvalidArgument names the known ones.
Result<HardwareCard> machine_named(const std::vector<HardwareCard>& known, std::string_view name);

}  // namespace kw::prompt
