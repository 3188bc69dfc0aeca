// Plans in another floating-point type.
#pragma once
#include "writer/generate/plan.h"

namespace kw::writer::generate {

// Whether every operator holds in this half-precision type and no value comes near its range.
bool holds_in(const Plan& plan, tensor::DType half);

// Every float32 value becomes one of this type.
void retype(Plan& plan, tensor::DType half);

}  // namespace kw::writer::generate
