#include "writer/author/operator_chain.h"

#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kw::writer {
namespace {

bool is_view(const std::string& op) {
  static const std::set<std::string> all = {"view",      "expand", "permute",   "squeeze",
                                            "unsqueeze", "t",      "transpose", "alias",
                                            "_to_copy",  "clone",  "detach",    "reshape"};
  return all.contains(op);
}

bool is_one(const Attribute& value) {
  if (const auto* size = std::get_if<IntExpr>(&value)) return size->constant() == 1;
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && *number == 1;
}

// What changes no value: how memory is laid out, and factors of 1.
bool says_nothing(const std::string& name, const Attribute& value) {
  if (name == "dtype" || name == "layout" || name == "device" || name == "memory_format")
    return true;
  return (name == "alpha" || name == "beta") && is_one(value);
}

// A number, a list of numbers or a mode.
std::optional<std::string> argument_text(const Attribute& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? std::optional<std::string>("True") : std::nullopt;
  if (const auto* size = std::get_if<IntExpr>(&value)) return size->python();
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* sizes = std::get_if<std::vector<IntExpr>>(&value)) {
    std::vector<std::string> parts;
    for (const IntExpr& one : *sizes) parts.push_back(one.python());
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    return fmt::format("[{}]", fmt::join(*numbers, ", "));
  if (const auto* mode = std::get_if<std::string>(&value); mode != nullptr && *mode != "none")
    return *mode;
  return std::nullopt;
}

}  // namespace

std::string operator_chain(const Graph& graph) {
  constexpr std::size_t kMaxOperators = 24;
  std::vector<std::string> out;
  std::size_t left_out = 0;
  for (const Node& node : graph.nodes) {
    const std::string op = node.op.substr(0, node.op.find('.'));
    if (is_view(op)) continue;
    if (out.size() == kMaxOperators) {
      ++left_out;
      continue;
    }
    std::vector<std::string> numbers;
    for (const auto& [name, value] : node.arguments) {
      if (says_nothing(name, value)) continue;
      if (const auto text = argument_text(value))
        numbers.push_back(name == "other" || name == "self" ? *text
                                                            : fmt::format("{}={}", name, *text));
    }
    const std::string name = op.substr(op.find_first_not_of('_'));
    out.push_back(numbers.empty() ? name : fmt::format("{}({})", name, fmt::join(numbers, ", ")));
  }
  std::string text = out.empty() ? "copy" : fmt::format("{}", fmt::join(out, " > "));
  if (left_out > 0) text += fmt::format(" > {} more", left_out);
  return text;
}

}  // namespace kw::writer
