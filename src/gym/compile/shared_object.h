// Looks at a compiler's artefact before it is stored: is it a shared object of this machine?
#pragma once
#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace kw::gym {

inline constexpr std::size_t kMaxArtifactBytes = 64ULL << 20U;

// ELF64, little endian, this machine's instruction set, ET_DYN, program and section headers and
// loaded segments inside the file, and no program interpreter. kInvalidArgument says what is wrong.
// Not a proof of harmlessness: the object is only ever loaded inside an executor's sandbox.
Status check_shared_object(std::string_view bytes);

}  // namespace kw::gym
