// Base64.
#include "text/base64.h"

#include <cstdint>

namespace kw::text {
namespace {
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = (bits << 8U) | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= group.size() ? kDigits[(bits >> (18 - 6 * k)) & 63U] : '=';
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  auto wrong = [] { return fail(ErrorCode::kInvalidArgument, "not base64"); };
  if (text.size() % 4 != 0) return wrong();
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    bool last = i + 4 == text.size();
    std::size_t digits = !last || text[i + 3] != '=' ? 4 : text[i + 2] != '=' ? 3 : 2;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      auto digit = k < digits ? kDigits.find(text[i + k]) : 0;
      if (digit == std::string_view::npos) return wrong();
      bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t k = 0; k + 1 < digits; ++k)
      out += static_cast<char>((bits >> (16 - 8 * k)) & 0xFFU);
    std::uint32_t unused = digits == 4 ? 0 : digits == 3 ? 0xFFU : 0xFFFFU;
    if ((bits & unused) != 0) return wrong();
  }
  return out;
}

}  // namespace kw::text
