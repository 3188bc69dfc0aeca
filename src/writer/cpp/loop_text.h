// Loops and statements as C++.
#pragma once
#include "writer/cpp/cpp_text.h"
#include "writer/cpp/cpp_tuning.h"

namespace kw::writer {

// The statements of text.nest.
void write_nest(const CppTuning& tuning, CppText& text);

}  // namespace kw::writer
