// JSON of settings: a struct S with a function template `describe(settings, visit)` that calls
// visit(name, member) or visit(name, member, facts) once for each member. Names are the keys.
// Members are texts, booleans, numbers, lists of texts and lists of numbers. Threads: free
// functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw {

// Each reads the value under a key into `out`; a missing key or null leaves `out` as it is.
// kInvalidArgument names the key: a value of another kind, an integer out of the member's range, a
// negative number for an unsigned member.
Status read_setting(ObjectReader& reader, const char* key, std::string& out);
Status read_setting(ObjectReader& reader, const char* key, bool& out);
Status read_setting(ObjectReader& reader, const char* key, double& out);
Status read_setting(ObjectReader& reader, const char* key, int& out);
Status read_setting(ObjectReader& reader, const char* key, std::int64_t& out);
Status read_setting(ObjectReader& reader, const char* key, std::uint64_t& out);
// A single text is a list of one.
Status read_setting(ObjectReader& reader, const char* key, std::vector<std::string>& out);
Status read_setting(ObjectReader& reader, const char* key, std::vector<double>& out);

template <typename Settings>
Json settings_to_json(const Settings& settings) {
  Json out = Json::object();
  describe(settings, [&](const char* name, const auto& member, const auto&... /*facts*/) {
    out[name] = member;
  });
  return out;
}

// Members without a key keep the struct's defaults; kInvalidArgument for an unknown key too. where:
// what the value is called in errors.
template <typename Settings>
Result<Settings> settings_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Settings out;
  Status status;
  describe(out, [&](const char* name, auto& member, const auto&... /*facts*/) {
    if (status) status = read_setting(reader, name, member);
  });
  if (!status) return tl::unexpected(std::move(status).error());
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw
