// TOML as JSON values, for the files of settings that people write.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kw::text {

// kInvalidArgument "where:LINE: ..." for ill-formed TOML, dates and times.
Result<Json> json_from_toml(std::string_view text, const std::string& where);

// object: scalars, arrays and objects. Members that are null are left out, as TOML has no null; a
// null in an array has no form. Keys are sorted, values come before tables, and objects in arrays
// are inline tables.
std::string to_toml(const Json& object);

}  // namespace kw::text
