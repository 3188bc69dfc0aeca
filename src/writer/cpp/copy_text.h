// Loops that only copy, as calls of functions that do it in vectors.
#pragma once
#include "writer/cpp/cpp_text.h"

namespace kw::writer {

// True where the loop is a conversion between float16 and float32, or a transposition into scratch
// memory, and is written; false: nothing is.
bool write_copy(const NestLoop& loop, CppText& text);

}  // namespace kw::writer
