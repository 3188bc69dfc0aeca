// `kernelwright model import`.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Becomes kernelwright-lm, which has the engine's formats.
Result<int> run_model_import(const ModelImportCommand& command, const Services& services);

}  // namespace kw::front
