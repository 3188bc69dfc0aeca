// kernelwright worker: judges what a server hands out.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Until it is asked to stop, or the server refuses it.
Result<int> run_worker(const WorkerCommand& command, const Services& services);

}  // namespace kw::front
