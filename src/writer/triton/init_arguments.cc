#include "writer/triton/init_arguments.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kw::writer::triton {
namespace {

// Dimensions up to this are an expression of anything.
constexpr std::int64_t kLargestByChance = 16;

std::string_view name_of(std::string_view parameter) {
  parameter.remove_prefix(std::min(parameter.find_first_not_of('*'), parameter.size()));
  if (parameter.ends_with('=')) parameter.remove_suffix(1);
  return parameter;
}

// Names that the class uses itself.
bool is_taken(std::string_view name) {
  constexpr std::string_view kNames[] = {"self", "super", "torch", "nn", "add_state"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The value of the parameter, which may have "_" behind its name among the constants; nullptr: no
// number.
const Json* value_of(std::string_view name, const task::Signature& signature) {
  const Json* out = nullptr;
  for (const auto& [known, value] : signature.constants) {
    if (known == name) return &value;
    if (known.starts_with(name) && known.find_first_not_of('_', name.size()) == std::string::npos)
      out = &value;
  }
  return out;
}

std::string python_of(const Json* value) {
  if (value == nullptr) return "None";
  if (value->is_boolean()) return value->get<bool>() ? "True" : "False";
  if (!value->is_array()) return value->is_number() ? value->dump() : "None";
  std::vector<std::string> parts;
  for (const Json& each : *value) parts.push_back(python_of(&each));
  return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
}

}  // namespace

InitArguments::InitArguments(const task::Signature& signature) {
  if (!signature.init_parameters) return;
  std::vector<std::string> parameters = {"self"};
  std::vector<Integer> integers;
  for (const std::string& parameter : *signature.init_parameters) {
    const std::string name(name_of(parameter));
    if (is_taken(name)) return;
    const Json* value = value_of(name, signature);
    parameters.push_back(parameter);
    if (parameter.ends_with('=')) parameters.back() += python_of(value);
    if (value == nullptr) continue;
    if (value->is_number_integer()) integers.push_back({name, value->get<std::int64_t>()});
    for (std::size_t i = 0; value->is_array() && i < value->size(); ++i) {
      if ((*value)[i].is_number_integer())
        integers.push_back({fmt::format("{}[{}]", name, i), (*value)[i].get<std::int64_t>()});
    }
  }
  parameters_ = fmt::format("{}", fmt::join(parameters, ", "));
  integers_ = std::move(integers);
}

std::string InitArguments::dimension(std::int64_t size) const {
  const auto is_it = [&](const Integer& one) { return one.value == size; };
  const auto found = std::find_if(integers_.begin(), integers_.end(), is_it);
  if (size > 1 && found != integers_.end() &&
      std::none_of(std::next(found), integers_.end(), is_it))
    return found->text;
  if (size <= kLargestByChance || found != integers_.end()) return std::to_string(size);
  const std::vector<std::string> expressions = expressions_of(size);
  return expressions.size() == 1 ? expressions.front() : std::to_string(size);
}

std::vector<std::string> InitArguments::expressions_of(std::int64_t size) const {
  std::vector<std::string> out;
  for (const Integer& a : integers_) {
    if (a.value < 2) continue;
    for (const std::int64_t times : {2, 3, 4}) {
      if (size % times == 0 && size / times == a.value)
        out.push_back(fmt::format("{} * {}", times, a.text));
    }
    for (const Integer& b : integers_) {
      if (b.value < 2) continue;
      if (a.value % b.value == 0 && a.value / b.value == size)
        out.push_back(fmt::format("{} // {}", a.text, b.text));
      if (&a < &b && size % a.value == 0 && size / a.value == b.value)
        out.push_back(fmt::format("{} * {}", a.text, b.text));
    }
  }
  return out;
}

}  // namespace kw::writer::triton
