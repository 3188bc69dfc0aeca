// The alternatives of each expression, tried in its order.
#include "lm/tokenizer/word_scanner.h"

#include <array>

#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwenRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::uint8_t kAny = kLetter | kNumber | kSpace;
constexpr std::uint8_t kEnd = 0x80;  // behind the last character

struct Next {
  std::uint8_t kind;  // kLetter, kNumber, kSpace, 0 for others, or kEnd
  std::uint8_t length;
};

// Classes of ASCII without a call.
const std::array<std::uint8_t, 128>& ascii_kinds() {
  static const std::array<std::uint8_t, 128> kKinds = [] {
    std::array<std::uint8_t, 128> kinds{};
    for (unsigned code = 0; code < kinds.size(); ++code)
      kinds[code] = static_cast<std::uint8_t>(class_of(code) & kAny);
    return kinds;
  }();
  return kKinds;
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::array<std::uint8_t, 128>& ascii)
      : text_(text), ascii_(ascii) {}

  Next at(std::size_t position) const {
    if (position >= text_.size()) return {kEnd, 0};
    auto byte = static_cast<unsigned char>(text_[position]);
    if (byte < 0x80) return {ascii_[byte], 1};
    Utf8Character c = read_utf8(text_.substr(position));
    return {static_cast<std::uint8_t>(class_of(c.code) & kAny), c.length};
  }

  bool is_newline(std::size_t position) const {
    return position < text_.size() && (text_[position] == '\n' || text_[position] == '\r');
  }

  // Past the characters of this kind, at most `most` of them.
  std::size_t run(std::size_t position, std::uint8_t kind, std::size_t most = SIZE_MAX) const {
    for (Next next = at(position); next.kind == kind && most > 0; next = at(position), --most)
      position += next.length;
    return position;
  }

  std::size_t newlines(std::size_t position) const {
    while (is_newline(position)) ++position;
    return position;
  }

  // Past 's 't 're 've 'm 'll 'd, or `position` where there is none. U+017F is a small s to
  // expressions that ignore case.
  std::size_t contraction(std::size_t position, bool ignore_case) const {
    if (text_[position] != '\'') return position;
    auto letter = [&](std::size_t offset) {
      if (position + offset >= text_.size()) return '\0';
      char c = text_[position + offset];
      return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    char first = letter(1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return position + 2;
    char second = letter(2);
    if ((second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l'))
      return position + 3;
    if (ignore_case && text_.substr(position + 1).starts_with("\u017F")) return position + 3;
    return position;
  }

  // \s+(?!\S)|\s+ : all of the white space before the end of the text; before anything else all
  // but its last character, which belongs to the next word, unless it is the only one.
  std::size_t space(std::size_t begin) const {
    std::size_t last = begin;
    std::size_t end = begin;
    for (Next next = at(end); next.kind == kSpace; next = at(end)) {
      last = end;
      end += next.length;
    }
    return end == text_.size() || last == begin ? end : last;
  }

  // \s*[\r\n]+ : up to the last line end of the white space; `begin` where there is none.
  std::size_t space_to_newline(std::size_t begin) const {
    std::size_t end = begin;
    std::size_t position = begin;
    for (Next next = at(position); next.kind == kSpace; next = at(position)) {
      position += next.length;
      if (is_newline(position - next.length)) end = position;
    }
    return end;
  }

 private:
  std::string_view text_;
  const std::array<std::uint8_t, 128>& ascii_;
};

std::size_t gpt2_word(const Scanner& scan, std::string_view text, std::size_t begin) {
  if (std::size_t end = scan.contraction(begin, false); end != begin) return end;
  std::size_t start = text[begin] == ' ' ? begin + 1 : begin;
  Next next = scan.at(start);
  if (next.kind != kSpace && next.kind != kEnd) return scan.run(start, next.kind);
  return scan.space(begin);
}

// Qwen and Llama 3 differ only in how many digits are one word.
std::size_t modern_word(const Scanner& scan, std::string_view text, std::size_t begin,
                        std::size_t most_digits) {
  if (std::size_t end = scan.contraction(begin, true); end != begin) return end;
  Next next = scan.at(begin);
  if (next.kind == kLetter) return scan.run(begin, kLetter);
  if (next.kind == kNumber) return scan.run(begin, kNumber, most_digits);
  if (!scan.is_newline(begin)) {
    std::size_t end = scan.run(begin + next.length, kLetter);
    if (end != begin + next.length) return end;
  }
  std::size_t start = text[begin] == ' ' ? begin + 1 : begin;
  if (std::size_t end = scan.run(start, 0); end != start) return scan.newlines(end);
  if (std::size_t end = scan.space_to_newline(begin); end != begin) return end;
  return scan.space(begin);
}

}  // namespace

std::string_view regex_of(WordPattern pattern) {
  switch (pattern) {
    case WordPattern::kGpt2:
      return kGpt2Regex;
    case WordPattern::kQwen:
      return kQwenRegex;
    case WordPattern::kLlama3:
      return kLlama3Regex;
  }
  return {};
}

std::optional<WordPattern> known_pattern(std::string_view regex) {
  for (WordPattern pattern : {WordPattern::kGpt2, WordPattern::kQwen, WordPattern::kLlama3}) {
    if (regex == regex_of(pattern)) return pattern;
  }
  return std::nullopt;
}

std::size_t word_end(WordPattern pattern, std::string_view text, std::size_t begin) {
  Scanner scan(text, ascii_kinds());
  switch (pattern) {
    case WordPattern::kGpt2:
      return gpt2_word(scan, text, begin);
    case WordPattern::kQwen:
      return modern_word(scan, text, begin, 1);
    case WordPattern::kLlama3:
      return modern_word(scan, text, begin, 3);
  }
  return text.size();
}

}  // namespace kw::lm
