// Edit distance, UTF-8 filtering and units.
#include "base/text.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/core.h>

namespace kw {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

// Length of the well-formed UTF-8 sequence at the start of bytes and its code point; length 0 where
// it is ill-formed.
struct Utf8 {
  std::size_t length;
  char32_t code_point;
};

Utf8 decode_utf8(std::string_view bytes) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return {0, 0};
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return {0, 0};
  return {length, code};
}

bool shown_as_is(char32_t c) {
  if (c == '\n' || c == '\t') return true;
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
  bool bidirectional = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                       (c >= 0x2066 && c <= 0x2069);
  return !bidirectional && c != 0xFEFF && c != 0x2028 && c != 0x2029;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view bytes, std::size_t max_bytes) {
  std::string out;
  out.reserve(std::min(bytes.size(), max_bytes) + 3);
  while (!bytes.empty()) {
    Utf8 c = decode_utf8(bytes);
    std::size_t length = std::max<std::size_t>(c.length, 1);
    std::string_view shown = c.length == 0 || !shown_as_is(c.code_point) ? std::string_view("?")
                                                                         : bytes.substr(0, length);
    if (out.size() + shown.size() > max_bytes) return out + "...";
    out += shown;
    bytes.remove_prefix(length);
  }
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    Utf8 c = decode_utf8(bytes);
    if (c.length == 0) return false;
    bytes.remove_prefix(c.length);
  }
  return true;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 1000) return std::to_string(count);
  if (count < 999950) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.1f}M", value / 1e6);
}

std::string format_ms(double milliseconds) {
  if (milliseconds < 1e-3) return fmt::format("{:.0f} ns", milliseconds * 1e6);
  if (milliseconds < 1) return fmt::format("{:.3g} us", milliseconds * 1e3);
  if (milliseconds < 1000) return fmt::format("{:.3g} ms", milliseconds);
  return fmt::format("{:.3g} s", milliseconds / 1000);
}

}  // namespace kw
