// Text as Python sees it: code points.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace kw::reward {

// As bytes.decode("utf-8", "surrogateescape"): each byte that is not part of well-formed UTF-8
// becomes the code point 0xDC00 + byte, so any bytes are accepted and different bytes stay
// different.
std::vector<std::uint32_t> code_points(std::string_view bytes);

// Python's str.strip() on UTF-8: its white space, which is Unicode's and the separators 0x1C to
// 0x1F.
std::string_view strip(std::string_view bytes);

}  // namespace kw::reward
