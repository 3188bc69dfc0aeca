// JSON as commands print it.
#pragma once
#include <string>

#include "base/json.h"

namespace kw::front {

// One line with its end. Bytes that are no UTF-8 become U+FFFD.
inline std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kw::front
