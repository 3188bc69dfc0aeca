// Printable bytes of Latin-1 stand for themselves, the others for U+0100, U+0101 ... in order.
#include "lm/tokenizer/byte_level.h"

#include <array>

#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::size_t kCharacters = 0x144;

struct Maps {
  Maps() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      characters[byte] = printable ? byte : next++;
      bytes[characters[byte]] = static_cast<int>(byte);
    }
  }
  std::array<char32_t, 256> characters{};
  std::array<int, kCharacters> bytes{};
};

const Maps& maps() {
  static const Maps kMaps;
  return kMaps;
}

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string out;
  for (char byte : bytes) append_utf8(out, maps().characters[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    Utf8Character c = read_utf8(text);
    if (!c.valid || c.code >= kCharacters || maps().bytes[c.code] < 0) return std::nullopt;
    out.push_back(static_cast<char>(maps().bytes[c.code]));
    text.remove_prefix(c.length);
  }
  return out;
}

std::string decoded_bytes(std::string_view token) {
  return from_byte_level(token).value_or(std::string(token));
}

}  // namespace kw::lm
