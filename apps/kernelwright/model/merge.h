// `kernelwright model merge`.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Becomes kernelwright-lm, which has the engine's formats.
Result<int> run_model_merge(const ModelMergeCommand& command, const Services& services);

}  // namespace kw::front
