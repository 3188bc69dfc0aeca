// Scans, sorts and scatters as C++.
#pragma once
#include "writer/cpp/cpp_text.h"

namespace kw::writer {

void write_routine(const Routine& routine, CppText& text);
// True where one loop does both; false: nothing is written.
bool write_together(const Routine& first, const Routine& second, CppText& text);

}  // namespace kw::writer
