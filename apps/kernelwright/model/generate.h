// kernelwright generate: hands its settings to kernelwright-lm, or asks a server.
#pragma once
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_generate(const GenerateCommand& command, const Services& services);

}  // namespace kw::front
