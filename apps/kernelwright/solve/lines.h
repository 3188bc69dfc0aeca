// Lines of solve's plan and cards: a label, and what it says.
#pragma once
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace kw::front {

// Nothing without a text.
inline void add_row(std::string& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
}

}  // namespace kw::front
