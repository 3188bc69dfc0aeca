// The helper functions of generated C++ files.
#pragma once
#include <set>
#include <string>

#include "writer/cpp/cpp_tuning.h"

namespace kw::writer {

// Declarations and definitions of these functions (ScalarText::functions()), for the top of a file.
std::string support_text(const std::set<std::string>& functions, const CppTuning& tuning);

}  // namespace kw::writer
