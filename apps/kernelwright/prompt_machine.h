// The machine whose facts a prompt tells.
#pragma once
#include <string>

#include "kernelwright/services.h"

namespace kw::front {

// The known one that `name` (--machine) means; without a name this machine's CPU. Triton is written
// for a GPU, whoever judges it, and so is what is for another target than cpu: there a name is
// needed. kInvalidArgument names the known ones. threads: that a kernel may use of a CPU.
Result<prompt::HardwareCard> prompt_machine(const std::string& name, task::Language language,
                                            const std::string& target, int threads,
                                            const Services& services);

}  // namespace kw::front
