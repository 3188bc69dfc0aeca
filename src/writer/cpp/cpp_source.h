// A nest as a C++ candidate.
#pragma once
#include <string>

#include "task/signature.h"
#include "writer/cpp/cpp_tuning.h"
#include "writer/nest/nest.h"

namespace kw::writer {

// One self-contained source file that defines run() as problem.h declares it. Sizes are problem.h's
// constants or the variable axes, so the text has none of its own. kInvalidArgument when the
// signature's tensors are not the program's inputs and outputs.
Result<std::string> cpp_source(const Nest& nest, const task::Signature& signature,
                               const CppTuning& tuning);

}  // namespace kw::writer
