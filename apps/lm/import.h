// Models of other formats as folders of Hugging Face.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace kw::lm_program {

// settings: what `kernelwright model import` was given.
Status import(const Json& settings);

}  // namespace kw::lm_program
