#include "task/custom_scalars.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "text/literal.h"
#include "text/names.h"

namespace kw::task {
namespace {

void skip_space(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
}

// A number or a boolean; null for anything else.
Json number_of(const text::Literal& literal) {
  if (const auto* value = std::get_if<bool>(&literal.value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&literal.value)) return *value;
  if (const auto* value = std::get_if<double>(&literal.value)) return *value;
  return nullptr;
}

// The number that stands behind "NAME": in the source; null unless it is the same everywhere.
Json number_behind(std::string_view source, const std::string& name) {
  Json found;
  for (const char quote : {'"', '\''}) {
    const std::string key = quote + name + quote;
    for (std::size_t at = source.find(key); at != std::string_view::npos;
         at = source.find(key, at)) {
      at += key.size();
      skip_space(source, at);
      if (at >= source.size() || source[at] != ':') continue;
      ++at;
      skip_space(source, at);
      const std::string_view rest = source.substr(at);
      auto literal = text::parse_literal(trim(rest.substr(0, rest.find_first_of(",}#\n"))));
      Json number = literal ? number_of(*literal) : Json();
      if (number.is_null() || (!found.is_null() && found != number)) return nullptr;
      found = std::move(number);
    }
  }
  return found;
}

}  // namespace

Status find_custom_scalars(Workload& workload, const Definition& definition,
                           const std::string& where) {
  if (definition.custom_inputs_entrypoint.empty()) return {};
  for (auto& [name, source] : workload.inputs) {
    const auto input = std::ranges::find(definition.inputs, name, &TensorSpec::name);
    if (!std::holds_alternative<CustomInput>(source) || input == definition.inputs.end() ||
        input->shape)
      continue;
    Json number = number_behind(definition.reference, name);
    if (number.is_null())
      return fail(
          ErrorCode::kUnsupported,
          "{}: a host scalar, which {}() does not give as a number that stands in its text; "
          "write {{\"type\": \"scalar\", \"value\": ...}} here",
          text::below(where, name), definition.custom_inputs_entrypoint);
    source = ScalarInput{std::move(number)};
  }
  return {};
}

}  // namespace kw::task
