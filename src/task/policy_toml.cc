// TOML to and from the JSON shape of a policy, so that both have one reader.
#include "task/policy_toml.h"

#include <sstream>

// toml++ asserts on some ill-formed text ("[(") before it comes to the code that reports it; a
// user's file must not end the process.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include "base/text.h"
#include "task/policy_json.h"

namespace kw::task {
namespace {

Result<Json> json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, item] : *table) {
      KW_TRY(out[std::string(key.str())], json_of(item));
    }
    return out;
  }
  if (const auto* array = node.as_array()) {
    Json out = Json::array();
    for (const toml::node& item : *array) {
      KW_TRY(Json value, json_of(item));
      out.push_back(std::move(value));
    }
    return out;
  }
  if (const auto* text = node.as_string()) return Json(text->get());
  if (const auto* integer = node.as_integer()) return Json(integer->get());
  if (const auto* real = node.as_floating_point()) return Json(real->get());
  if (const auto* boolean = node.as_boolean()) return Json(boolean->get());
  return fail(ErrorCode::kInvalidArgument, "line {}: no key takes a date or time",
              node.source().begin.line);
}

toml::table table_of(const Json& object);

void insert(toml::table& table, const std::string& key, const Json& value) {
  if (value.is_object()) {
    table.insert(key, table_of(value));
  } else if (value.is_array()) {
    toml::array items;
    for (const Json& item : value) items.push_back(item.get<std::string>());
    table.insert(key, std::move(items));
  } else if (value.is_string()) {
    table.insert(key, value.get<std::string>());
  } else if (value.is_boolean()) {
    table.insert(key, value.get<bool>());
  } else if (value.is_number_integer()) {
    table.insert(key, value.get<std::int64_t>());
  } else {
    table.insert(key, value.get<double>());
  }
}

toml::table table_of(const Json& object) {
  toml::table out;
  for (const auto& [key, value] : object.items()) insert(out, key, value);
  return out;
}

}  // namespace

Result<Policy> policy_from_toml(std::string_view text, const std::string& where) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::kInvalidArgument, "{}:{}: {}", where, error.source().begin.line,
                printable(error.description(), 300));
  }
  auto value = json_of(parsed.table());
  auto policy =
      value ? policy_from_json(*value, "") : Result<Policy>(tl::unexpected(value.error()));
  if (!policy) return tl::unexpected(std::move(policy).error().with_context(where));
  return policy;
}

std::string policy_to_toml(const Policy& policy) {
  std::ostringstream out;
  // Line breaks in toml++'s literal and multi-line strings do not read as the same text.
  constexpr auto kFlags =
      toml::toml_formatter::default_flags &
      ~(toml::format_flags::allow_literal_strings | toml::format_flags::allow_multi_line_strings);
  toml::table table = table_of(to_json(policy));
  out << toml::toml_formatter(table, kFlags) << '\n';
  return out.str();
}

}  // namespace kw::task
