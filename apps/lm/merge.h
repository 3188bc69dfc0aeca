// A LoRA adapter and its model as one model folder.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace kw::lm_program {

// settings: what `kernelwright model merge` was given.
Status merge(const Json& settings);

}  // namespace kw::lm_program
