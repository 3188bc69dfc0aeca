// The machine whose facts a prompt tells.
#pragma once
#include <optional>
#include <string>

#include "kernelwright/services.h"
#include "prompt/templates.h"
#include "task/target.h"

namespace kw::front {

// nullopt: `chosen` tells none, and --machine is an error (kInvalidArgument). Else the known one
// that `name` (--machine) means; without a name this machine's CPU. Triton is written for a GPU,
// whoever judges it, and so is what is for another target than the CPU: there a name is needed.
// kInvalidArgument names the known ones. threads: that a kernel may use of a CPU.
Result<std::optional<prompt::HardwareCard>> prompt_machine(const prompt::Template& chosen,
                                                           const std::string& name,
                                                           task::Language language,
                                                           task::Target target, int threads,
                                                           const Services& services);

}  // namespace kw::front
