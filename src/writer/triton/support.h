// The device functions of generated Triton files.
#pragma once
#include <set>
#include <string>

namespace kw::writer::triton {

// Definitions of these functions (ScalarPrinter::functions()), for the top of a file.
std::string support_text(const std::set<std::string>& functions);

}  // namespace kw::writer::triton
