// Looks at a compiler's artefact before it is stored: is it a shared object of this machine?
#pragma once
#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace kw::gym {

inline constexpr std::size_t kMaxArtifactBytes = 64ULL << 20U;

// Accepts ELF64, little endian, of this machine's instruction set, ET_DYN, with program and section
// headers and loaded segments inside the file, and without a program interpreter. kInvalidArgument
// says what is wrong. This does not prove that the object is harmless: it is only ever loaded
// inside an executor's sandbox.
Status check_shared_object(std::string_view bytes);

}  // namespace kw::gym
