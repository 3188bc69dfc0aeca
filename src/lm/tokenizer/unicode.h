// UTF-8 and the classes of characters that tokenizers ask for, as HF `tokenizers` has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kw::lm {

// A set of these; 0 for the rest.
enum CharacterClass : std::uint8_t {
  kLetter = 1,    // \p{L}
  kNumber = 2,    // \p{N}
  kSpace = 4,     // \s
  kWord = 8,      // \w
  kNfcCheck = 16  // text without these is in normalisation form C
};

// The class of a code point; any value is allowed.
std::uint8_t class_of(char32_t code);

// One character at the front of some bytes. length is 0 only for no bytes. Bytes that are no UTF-8
// are read as U+FFFD for each longest prefix of a valid sequence, as Rust's from_utf8_lossy and the
// Unicode standard (3.9, "maximal subpart") have it; valid is false then.
struct Utf8Character {
  char32_t code = 0;
  std::uint8_t length = 0;
  bool valid = true;
  bool cut = false;  // ill-formed only because the bytes end: more bytes could complete it
};
Utf8Character read_utf8(std::string_view bytes);

void append_utf8(std::string& out, char32_t code);

bool is_utf8(std::string_view bytes);

// The text with U+FFFD for what is no UTF-8.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace kw::lm
