// Text that becomes markup only where this file's callers wrote the markup themselves. Private to
// this folder.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace kw::report {

// For element content and for attributes in double quotes. Control characters (but newline and
// tab), bidirectional overrides and bytes that are not UTF-8 come out as text: hostile code shall
// not look like other code.
std::string escape(std::string_view text);

// At most max_bytes of the text, escaped, with a note of what was left out behind it.
std::string bounded(std::string_view text, std::size_t max_bytes, std::size_t left_out_before = 0);

}  // namespace kw::report
