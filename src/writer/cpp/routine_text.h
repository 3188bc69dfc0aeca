// Scans, sorts and scatters as C++.
#pragma once
#include "writer/cpp/cpp_text.h"

namespace kw::writer {

void write_routine(const Routine& routine, CppText& text);

}  // namespace kw::writer
