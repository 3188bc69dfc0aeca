// A table of enumerators and their names, with lookup both ways; private to the codecs of this
// folder.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw::text {

template <typename Enum, std::size_t N>
struct EnumNames {
  std::array<std::pair<Enum, std::string_view>, N> rows;

  constexpr std::string_view name(Enum value) const {
    for (const auto& [enumerator, text] : rows) {
      if (enumerator == value) return text;
    }
    return "?";
  }
  constexpr std::optional<Enum> value(std::string_view text) const {
    for (const auto& [enumerator, known] : rows) {
      if (known == text) return enumerator;
    }
    return std::nullopt;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& row : rows) out.emplace_back(row.second);
    return out;
  }
};

template <typename Enum, std::size_t N>
constexpr EnumNames<Enum, N> enum_names(const std::pair<Enum, std::string_view> (&rows)[N]) {
  return {std::to_array(rows)};
}

}  // namespace kw::text
