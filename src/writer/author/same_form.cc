#include "writer/author/same_form.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace kw::writer {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

bool is_dropped(std::string_view word, const std::map<std::string, std::int64_t>& sizes) {
  // A size as an operand is a cast, a number is not; a bound may be the lesser of two sizes.
  constexpr std::string_view kSigns = "+-*/()<>,: ";
  if (word.size() == 1 && kSigns.find(word[0]) != std::string_view::npos) return true;
  constexpr std::string_view kWords[] = {"static_cast", "float", "double", "int64_t",
                                         "std",         "min",   "max"};
  if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
  return std::isdigit(static_cast<unsigned char>(word[0])) != 0 ||
         sizes.contains(std::string(word));
}

std::vector<std::string> words_of(std::string_view line,
                                  const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    if (is_word(line[at]))
      while (end < line.size() && is_word(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    if (!is_dropped(word, sizes)) out.emplace_back(word);
    at = end;
  }
  // A product of sums of sizes names a variable once for each term.
  std::sort(out.begin(), out.end());
  out.erase(std::unique(
                out.begin(), out.end(),
                [](const std::string& a, const std::string& b) { return a == b && is_word(a[0]); }),
            out.end());
  return out;
}

}  // namespace

FormOfSource::FormOfSource(std::string_view source,
                           const std::map<std::string, std::int64_t>& sizes) {
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    lines_.push_back(words_of(source.substr(0, end), sizes));
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

}  // namespace kw::writer
