// Facts of this machine's CPU, for prompts.
#pragma once
#include <string_view>

#include "prompt/hardware_card.h"

namespace kw::front {

// Name and the instruction sets that kernels are written for, from the text of /proc/cpuinfo.
prompt::HardwareCard card_of_cpuinfo(std::string_view cpuinfo);

// With caches and memory as the C library knows them; threads: the cores a kernel may use.
prompt::HardwareCard this_cpu(int threads);

}  // namespace kw::front
