// JSON with a bounded depth, and readers whose errors name the field: "axes.N.value: expected an
// integer". Threads: free functions without state. Objects keep the order of their keys
// (OrderedJson), which is the call interface.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace kw {

using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;

// kInvalidArgument with line and column for ill-formed text, depth over kMaxJsonDepth, duplicate
// keys or invalid UTF-8.
Result<Json> parse_json(std::string_view text);

// Keys sorted, no white space, integers as such, floats by shortest round trip: equal values give
// equal bytes. Base of every hash.
std::string canonical_json(const Json& value);

// Reads the fields of one object and remembers which were asked for; where() is the path in
// messages.
class ObjectReader {
 public:
  static Result<ObjectReader> make(const Json& value, std::string where);

  bool has(std::string_view key) const;
  // The value of a required key; kInvalidArgument "where.key: missing" when it is not there.
  Result<const Json*> get(std::string_view key);
  // nullptr when the key is missing or null.
  const Json* find(std::string_view key);

  Result<std::string> string(std::string_view key);
  Result<std::int64_t> integer(std::string_view key);
  Result<double> number(std::string_view key);
  Result<bool> boolean(std::string_view key);
  Result<std::string> string_or(std::string_view key, std::string fallback);
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback);
  Result<double> number_or(std::string_view key, double fallback);
  Result<bool> boolean_or(std::string_view key, bool fallback);
  Result<std::vector<std::string>> strings_or_empty(std::string_view key);

  // kInvalidArgument naming the first key that nobody asked for, with the nearest known one as
  // suggestion.
  Status no_other_keys() const;

  const std::string& where() const { return where_; }
  std::string path(std::string_view key) const {
    return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
  }

 private:
  ObjectReader(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}
  const Json* value_;
  std::string where_;
  std::vector<std::string> asked_;
};

}  // namespace kw
