// Draws a plan: a chain of operators that may part in two branches and go on where they join.
#pragma once
#include "writer/generate/generate.h"
#include "writer/generate/operators.h"

namespace kw::writer::generate {

// kInvalidArgument for a first operator that does not exist. Its depth may be less than drawn where
// nothing fits any more.
Result<Plan> sample_plan(Rng& rng, const GeneratorOptions& options);

}  // namespace kw::writer::generate
