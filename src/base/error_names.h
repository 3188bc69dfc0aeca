// Error codes by their names, for readers of what was written down.
#pragma once
#include <optional>
#include <string_view>

#include "base/error.h"

namespace kw {

std::optional<ErrorCode> error_code_from_string(std::string_view name);  // "invalid_argument", ...

}  // namespace kw
