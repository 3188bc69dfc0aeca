// kernelwright queue: what waits in a service's queue, or what became of a group.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// A group's exit code: 0 all that ended passed, 1 a candidate failed, 2 a task has no verdict.
Result<int> run_queue(const QueueCommand& command, const Services& services);

}  // namespace kw::front
