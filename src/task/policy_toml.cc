// TOML to and from the JSON shape of a policy, so that both have one reader.
#include "task/policy_toml.h"

#include <sstream>

#include <toml++/toml.h>

#include "base/text.h"
#include "task/policy_json.h"

namespace kw::task {
namespace {

// Dates have no place in a policy and become their text, which the reader then refuses by name.
Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, item] : *table) out[std::string(key.str())] = json_of(item);
    return out;
  }
  if (const auto* array = node.as_array()) {
    Json out = Json::array();
    for (const toml::node& item : *array) out.push_back(json_of(item));
    return out;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  return "a date or time";
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
  auto policy = policy_from_json(json_of(parsed.table()), "");
  if (!policy) return tl::unexpected(std::move(policy).error().with_context(where));
  return policy;
}

std::string policy_to_toml(const Policy& policy) {
  std::ostringstream out;
  out << table_of(to_json(policy)) << '\n';
  return out.str();
}

}  // namespace kw::task
