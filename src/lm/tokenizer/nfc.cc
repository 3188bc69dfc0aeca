// Decomposes, puts combining characters in order, composes. Hangul by arithmetic (Unicode 3.12).
#include "lm/tokenizer/nfc.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "lm/tokenizer/unicode.h"
#include "lm/tokenizer/unicode_tables.h"

namespace kw::lm {
namespace {

constexpr char32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

struct Tables {
  Tables() {
    for (std::span<const Decomposition> rows : {kComposed, kDecomposed}) {
      for (const Decomposition& row : rows) parts.emplace(row.whole, row);
    }
    for (const Decomposition& row : kComposed)
      wholes.emplace(pair(row.first, row.second), row.whole);
  }
  static std::uint64_t pair(char32_t a, char32_t b) {
    return (static_cast<std::uint64_t>(a) << 32) | b;
  }
  std::unordered_map<char32_t, Decomposition> parts;
  std::unordered_map<std::uint64_t, char32_t> wholes;
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

std::uint8_t combining_class(char32_t code) {
  auto after = std::upper_bound(kCombiningRuns.begin(), kCombiningRuns.end(), (code << 8) | 0xFF);
  return after == kCombiningRuns.begin() ? std::uint8_t{0}
                                         : static_cast<std::uint8_t>(*(after - 1) & 0xFF);
}

struct Character {
  char32_t code;
  std::uint8_t combining;
};

void decompose(char32_t code, std::vector<Character>& out) {
  if (code < 0xC0) return out.push_back({code, 0});
  if (code >= kSBase && code < kSBase + kSCount) {
    char32_t at = code - kSBase;
    out.push_back({kLBase + at / (kVCount * kTCount), 0});
    out.push_back({kVBase + at % (kVCount * kTCount) / kTCount, 0});
    if (at % kTCount != 0) out.push_back({kTBase + at % kTCount, 0});
    return;
  }
  auto found = tables().parts.find(code);
  if (found == tables().parts.end()) return out.push_back({code, combining_class(code)});
  decompose(found->second.first, out);
  if (found->second.second != 0) decompose(found->second.second, out);
}

// 0 where the two do not compose.
char32_t compose(char32_t a, char32_t b) {
  if (a >= kLBase && a < kLBase + kLCount && b >= kVBase && b < kVBase + kVCount)
    return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
  bool is_lv = a >= kSBase && a < kSBase + kSCount && (a - kSBase) % kTCount == 0;
  if (is_lv && b > kTBase && b < kTBase + kTCount) return a + (b - kTBase);
  auto found = tables().wholes.find(Tables::pair(a, b));
  return found == tables().wholes.end() ? 0 : found->second;
}

// A character composes with the starter before it unless one of the same or a higher combining
// class, or another starter, stands between them (annex 15, "blocked").
void compose_all(std::vector<Character>& text) {
  std::size_t starter = text.size();  // none yet
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    Character c = text[at];
    if (starter < kept) {
      bool adjacent = kept == starter + 1;
      bool blocked = !adjacent && text[kept - 1].combining >= c.combining;
      char32_t whole = blocked ? 0 : compose(text[starter].code, c.code);
      if (whole != 0) {
        text[starter].code = whole;
        continue;
      }
    }
    if (c.combining == 0) starter = kept;
    text[kept++] = c;
  }
  text.resize(kept);
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    Utf8Character c = read_utf8(text.substr(at));
    if ((class_of(c.code) & kNfcCheck) != 0) return false;
    at += c.length;
  }
  return true;
}

std::string to_nfc(std::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    Utf8Character c = read_utf8(text);
    decompose(c.code, characters);
    text.remove_prefix(c.length);
  }
  auto is_starter = [](const Character& c) { return c.combining == 0; };
  for (auto at = characters.begin(); at != characters.end();) {
    auto begin = std::find_if_not(at, characters.end(), is_starter);
    at = std::find_if(begin, characters.end(), is_starter);
    std::stable_sort(begin, at, [](const Character& a, const Character& b) {
      return a.combining < b.combining;
    });
  }
  compose_all(characters);
  std::string out;
  for (const Character& c : characters) append_utf8(out, c.code);
  return out;
}

}  // namespace kw::lm
