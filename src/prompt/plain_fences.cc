// Looks at the begin of each line.
#include "prompt/plain_fences.h"

#include <algorithm>
#include <array>

namespace kw::prompt {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Zero-width space, joiners, marks of direction, word joiner, soft hyphen.
constexpr std::array<std::string_view, 8> kZeroWidth = {
    kByteOrderMark, "\xE2\x80\x8B", "\xE2\x80\x8C", "\xE2\x80\x8D",
    "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x81\xA0", "\xC2\xAD"};
// No-break space, narrow no-break space, figure space, other widths, ideographic space.
constexpr std::array<std::string_view, 14> kSpaces = {
    "\xC2\xA0",     "\xE2\x80\xAF", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82",
    "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87",
    "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE3\x80\x80"};

template <std::size_t N>
std::size_t length_at(const std::array<std::string_view, N>& characters, std::string_view text) {
  auto found = std::ranges::find_if(characters, [&](auto c) { return text.starts_with(c); });
  return found == characters.end() ? 0 : found->size();
}

std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    std::string_view rest = line.substr(at);
    if (std::size_t length = length_at(kZeroWidth, rest)) {
      at += length;
    } else if (std::size_t space = length_at(kSpaces, rest)) {
      out.push_back(' ');
      at += space;
    } else {
      out.push_back(line[at++]);
    }
  }
  return out;
}

bool is_fence(std::string_view plain_line) {
  std::size_t at = std::min(plain_line.find_first_not_of(" \t>"), plain_line.size());
  std::string_view rest = plain_line.substr(at);
  return rest.starts_with("```") || rest.starts_with("~~~");
}

}  // namespace

std::string plain_fences(std::string_view answer) {
  std::string out;
  out.reserve(answer.size());
  for (std::size_t at = 0; at < answer.size();) {
    std::size_t end = std::min(answer.find('\n', at), answer.size() - 1) + 1;
    std::string_view line = answer.substr(at, end - at);
    at = end;
    while (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    const bool ascii =
        std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    std::string without = ascii ? std::string() : plain(line);
    out.append(is_fence(without) ? std::string_view(without) : line);
  }
  return out;
}

}  // namespace kw::prompt
