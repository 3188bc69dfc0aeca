#include "base/settings_json.h"

#include <algorithm>
#include <limits>

namespace kw {

Status read_setting(ObjectReader& reader, const char* key, std::string& out) {
  KW_TRY(out, reader.string_or(key, out));
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, bool& out) {
  KW_TRY(out, reader.boolean_or(key, out));
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, double& out) {
  KW_TRY(out, reader.number_or(key, out));
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, int& out) {
  using Limits = std::numeric_limits<int>;
  KW_TRY(const std::int64_t value, reader.integer_or(key, out));
  if (value < Limits::min() || value > Limits::max())
    return fail(ErrorCode::kInvalidArgument, "{}: {} is out of range", reader.path(key), value);
  out = static_cast<int>(value);
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, std::int64_t& out) {
  KW_TRY(out, reader.integer_or(key, out));
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, std::uint64_t& out) {
  KW_TRY(const std::int64_t value, reader.integer_or(key, static_cast<std::int64_t>(out)));
  if (value < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 0 or more", reader.path(key));
  out = static_cast<std::uint64_t>(value);
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, std::vector<std::string>& out) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  if (value->is_string()) {
    out = {value->get<std::string>()};
    return {};
  }
  KW_TRY(out, reader.strings_or_empty(key));
  return {};
}

Status read_setting(ObjectReader& reader, const char* key, std::vector<double>& out) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  const bool numbers =
      value->is_array() &&
      std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_number(); });
  if (!numbers)
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
  out = value->get<std::vector<double>>();
  return {};
}

}  // namespace kw
