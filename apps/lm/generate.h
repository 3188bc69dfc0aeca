// The command generate: prompts to answers, as text or JSON lines.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace kw::lm_program {

// settings: what kernelwright generate hands over (apps/kernelwright/model/generate.cc). Results to
// stdout in the order of the prompts.
Status generate(const Json& settings);

}  // namespace kw::lm_program
