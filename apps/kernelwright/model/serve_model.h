// kernelwright serve-model: starts kernelwright-lm and serves its model over HTTP.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Until it is asked to stop, or the engine's program ends. kUnavailable then.
Result<int> run_serve_model(const ServeModelCommand& command, const Services& services);

}  // namespace kw::front
