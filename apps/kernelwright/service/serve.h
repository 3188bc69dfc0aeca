// kernelwright serve: the queue of judgements over HTTP.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Until it is asked to stop. An error when the tasks cannot be stored any more.
Result<int> run_serve(const ServeCommand& command, const Services& services);

}  // namespace kw::front
