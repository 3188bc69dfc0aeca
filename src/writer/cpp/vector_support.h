// Vectors as wide as the machine's, and transpositions in registers, as kernels have them.
#pragma once
#include <string>

namespace kw::writer {

// with_tile: kw_transpose_tile() too.
std::string vector_support(bool with_tile);

}  // namespace kw::writer
