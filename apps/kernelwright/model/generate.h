// kernelwright generate: hands its settings to kernelwright-lm, or asks a server.
#pragma once
#include <string>
#include <vector>

#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_generate(const GenerateCommand& command, const Services& services);

// execv: this process is the other program from now on. argv[0] is its path.
Error become(const std::vector<std::string>& argv);

}  // namespace kw::front
