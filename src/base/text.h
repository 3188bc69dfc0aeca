// Text for people: suggestions on typos, safe printing of untrusted bytes, durations and sizes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The candidate nearest to word by edit distance, or "" when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Untrusted bytes for a terminal, log or JSON: valid UTF-8, no control, ANSI or bidirectional
// characters (newline and tab stay), at most max_bytes bytes with "..." where cut.
std::string printable(std::string_view bytes, std::size_t max_bytes);

// '0' to '9', whatever the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_valid_utf8(std::string_view bytes);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);  // A to Z alone
std::string join(const std::vector<std::string>& parts, std::string_view separator);

std::string format_bytes(std::uint64_t bytes);  // "1.5 GiB"
std::string short_count(std::int64_t count);    // "950", "12.5k", "3.2M"
std::string format_ms(double milliseconds);     // "12.3 ms", "45 us", "3.2 s"

}  // namespace kw
