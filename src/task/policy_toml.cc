// TOML to and from the JSON shape of a policy, so that both have one reader.
#include "task/policy_toml.h"

#include <algorithm>
#include <map>

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

// A basic string: JSON's escapes are TOML's, but for DEL.
std::string quoted(const std::string& text) {
  std::string out;
  for (char c : Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
    out += c == '\x7F' ? std::string("\\u007F") : std::string(1, c);
  return out;
}

std::string key_text(const std::string& key) {
  bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
  return bare ? key : quoted(key);
}

std::string value_text(const Json& value) {
  if (value.is_string()) return quoted(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(value_text(item));
  return items.empty() ? "[]" : "[ " + join(items, ", ") + " ]";
}

// Values, then tables, each in the order of their keys. toml++'s own writer leaves keys with quotes
// or line breaks bare, and line breaks in strings do not read as they were.
void write_table(const Json& object, const std::string& path, std::string& out) {
  std::map<std::string, const Json*> members;
  for (const auto& [key, value] : object.items()) members.emplace(key, &value);
  for (const auto& [key, value] : members) {
    if (!value->is_object()) out += key_text(key) + " = " + value_text(*value) + "\n";
  }
  for (const auto& [key, value] : members) {
    if (!value->is_object()) continue;
    std::string below = path.empty() ? key_text(key) : path + "." + key_text(key);
    bool only_tables = !value->empty() && std::all_of(value->begin(), value->end(),
                                                      [](const Json& v) { return v.is_object(); });
    if (!only_tables) out += "\n[" + below + "]\n";
    write_table(*value, below, out);
  }
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
  std::string out;
  write_table(to_json(policy), "", out);
  return out;
}

}  // namespace kw::task
