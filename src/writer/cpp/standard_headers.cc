#include "writer/cpp/standard_headers.h"

#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace kw::writer {
namespace {

// Header and names, separated by spaces.
constexpr std::pair<std::string_view, std::string_view> kNamesOf[] = {
    {"algorithm", "clamp copy_n fill fill_n max min nth_element partial_sort sort stable_sort"},
    {"bit", "bit_cast"},
    {"cstddef", "byte ptrdiff_t size_t"},
    {"cstdint", "uintptr_t"},
    {"limits", "numeric_limits"},
    {"type_traits", "conditional_t is_floating_point_v is_same_v"},
    {"utility", "exchange integer_sequence make_integer_sequence pair swap"},
    {"vector", "vector"},
};

const std::map<std::string, std::string, std::less<>>& header_of_name() {
  static const auto table = [] {
    std::map<std::string, std::string, std::less<>> out;
    for (const auto& [header, names] : kNamesOf) {
      for (std::string& name : split(names, ' ')) out.emplace(std::move(name), header);
    }
    return out;
  }();
  return table;
}

bool is_part_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// visit(name) of what follows each `prefix` that begins a name.
template <typename Visit>
void for_each_name(std::string_view code, std::string_view prefix, const Visit& visit) {
  for (std::size_t at = code.find(prefix); at != std::string_view::npos;) {
    const std::size_t first = at + prefix.size();
    std::size_t end = first;
    while (end < code.size() && is_part_of_a_name(code[end])) ++end;
    if (at == 0 || !is_part_of_a_name(code[at - 1])) visit(code.substr(first, end - first));
    at = code.find(prefix, end);
  }
}

}  // namespace

std::string standard_includes(std::string_view code) {
  std::set<std::string> headers = {"cstdint"};
  for_each_name(code, "std::", [&](std::string_view name) {
    const auto found = header_of_name().find(name);
    headers.insert(found == header_of_name().end() ? "cmath" : found->second);
  });
  for_each_name(code, "mem", [&](std::string_view rest) {
    if (rest == "cpy" || rest == "set" || rest == "move") headers.insert("cstring");
  });
  std::string out;
  for (const std::string& header : headers) out += "#include <" + header + ">\n";
  return out;
}

}  // namespace kw::writer
