#include "writer/author/tuning.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace kw::writer {

std::string label_of(std::string_view strategy, const Tuning& tuning) {
  std::string out(strategy);
  for (const auto& [name, value] : tuning) out += fmt::format(" {}={}", name, value);
  return out;
}

std::optional<Labelled> parse_label(std::string_view label) {
  Labelled out;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find(' '), label.size());
    const std::string_view word = label.substr(0, end);
    label.remove_prefix(std::min(end + 1, label.size()));
    if (out.strategy.empty()) {
      out.strategy = word;
      continue;
    }
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    int value = 0;
    const auto [behind, error] =
        std::from_chars(word.data() + sign + 1, word.data() + word.size(), value);
    if (error != std::errc() || behind != word.data() + word.size()) return std::nullopt;
    out.tuning.emplace(word.substr(0, sign), value);
  }
  if (out.strategy.empty()) return std::nullopt;
  return out;
}

Status check(const Tuning& tuning, const std::vector<Choice>& choices) {
  for (const auto& [name, value] : tuning) {
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const Choice& one) { return one.name == name; });
    if (found == choices.end())
      return fail(ErrorCode::kNotFound, "unknown choice {}", printable(name, 40));
    if (std::find(found->values.begin(), found->values.end(), value) == found->values.end())
      return fail(ErrorCode::kInvalidArgument, "{}={}: there are {}", name, value,
                  fmt::join(found->values, ", "));
  }
  return {};
}

}  // namespace kw::writer
