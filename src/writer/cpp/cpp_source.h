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
  // Names of tuning choices that the source depends on; CppText says which are missing.
  std::set<std::string> choices;
};

// Writes one self-contained source file that defines run() as problem.h declares it. Sizes are
// problem.h's constants or the variable axes, so the text has no sizes of its own; numbers that the
// nest assumes are asserted. kInvalidArgument when the signature's tensors are not the program's
// inputs and outputs.
Result<CppFile> cpp_source(const Nest& nest, const task::Signature& signature,
                           const CppTuning& tuning);

}  // namespace kw::writer
