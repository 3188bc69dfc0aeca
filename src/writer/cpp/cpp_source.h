// A nest as a C++ candidate.
#pragma once
#include <set>
#include <string>

#include "task/signature.h"
#include "writer/cpp/cpp_tuning.h"
#include "writer/nest/nest.h"

namespace kw::writer {

struct CppFile {
  std::string source;
  std::set<std::string> choices;  // of the tuning, that it depends on; some of them, see CppText
};

// One self-contained source file that defines run() as problem.h declares it. Sizes are problem.h's
// constants or the variable axes, so the text has none of its own; the nest's numbers are asserted.
// kInvalidArgument when the signature's tensors are not the program's inputs and outputs.
Result<CppFile> cpp_source(const Nest& nest, const task::Signature& signature,
                           const CppTuning& tuning);

}  // namespace kw::writer
