// Tables of character properties, as HF `tokenizers` has them (make_unicode_tables.py); read
// through unicode.h and nfc.h.
#pragma once
#include <cstdint>
#include <span>

namespace kw::lm {

// A run begins at its row's code point (row >> 8) and ends where the next begins; row & 255 is its
// value. In front of the first row the value is 0.
extern const std::span<const std::uint32_t> kClassRuns;      // set of CharacterClass
extern const std::span<const std::uint32_t> kCombiningRuns;  // canonical combining class

// One step of a canonical decomposition; second is 0 where there is one character only.
struct Decomposition {
  char32_t whole, first, second;
};
extern const std::span<const Decomposition> kComposed;    // composed again by form C
extern const std::span<const Decomposition> kDecomposed;  // not composed again

}  // namespace kw::lm
