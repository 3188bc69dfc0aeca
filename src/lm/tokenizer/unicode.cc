// Two-stage tables over unicode_tables.cc, and UTF-8.
#include "lm/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "lm/tokenizer/unicode_tables.h"

namespace kw::lm {
namespace {

constexpr char32_t kLastCode = 0x10FFFF;

// 256 code points a page; equal pages are one.
struct ClassTable {
  ClassTable() {
    std::vector<std::uint8_t> flat(kLastCode + 1, 0);
    for (std::size_t row = 0; row < kClassRuns.size(); ++row) {
      std::size_t end = row + 1 < kClassRuns.size() ? kClassRuns[row + 1] >> 8 : flat.size();
      for (std::size_t code = kClassRuns[row] >> 8; code < end; ++code)
        flat[code] = static_cast<std::uint8_t>(kClassRuns[row] & 0xFF);
    }
    std::map<std::array<std::uint8_t, 256>, std::uint8_t> known;
    for (std::size_t page = 0; page < index.size(); ++page) {
      std::array<std::uint8_t, 256> values{};
      std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(page * 256), 256, values.begin());
      auto [at, is_new] = known.emplace(values, static_cast<std::uint8_t>(pages.size()));
      if (is_new) pages.push_back(values);
      index[page] = at->second;
    }
  }
  std::array<std::uint8_t, (kLastCode + 1) / 256> index{};
  std::vector<std::array<std::uint8_t, 256>> pages;
};

}  // namespace

std::uint8_t class_of(char32_t code) {
  static const ClassTable kTable;
  return code > kLastCode ? 0 : kTable.pages[kTable.index[code >> 8]][code & 0xFF];
}

Utf8Character read_utf8(std::string_view bytes) {
  if (bytes.empty()) return {};
  auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  constexpr Utf8Character kBad{0xFFFD, 1, false};
  if (lead < 0xC2 || lead > 0xF4) return kBad;
  std::uint8_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // What the second byte may be: no overlong forms, no surrogates, nothing over U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::uint8_t at = 1; at < length; ++at) {
    if (at == bytes.size()) return {0xFFFD, at, false, true};
    if (byte(at) < low || byte(at) > high) return {0xFFFD, at, false};
    code = (code << 6) | (byte(at) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length};
}

void append_utf8(std::string& out, char32_t code) {
  auto put = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      put(0xE0 | (code >> 12));
    } else {
      put(0xF0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3F));
    }
    put(0x80 | ((code >> 6) & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

bool is_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    // Eight ASCII bytes at a time.
    std::uint64_t block = 0;
    if (bytes.size() - at >= sizeof block) {
      std::memcpy(&block, bytes.data() + at, sizeof block);
      if ((block & 0x8080808080808080ULL) == 0) {
        at += sizeof block;
        continue;
      }
    }
    Utf8Character c = read_utf8(bytes.substr(at));
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Character c = read_utf8(bytes);
    if (c.valid)
      out += bytes.substr(0, c.length);
    else
      append_utf8(out, c.code);
    bytes.remove_prefix(c.length);
  }
  return out;
}

}  // namespace kw::lm
