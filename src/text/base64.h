// Base64 (RFC 4648, with padding): cubins inside JSON.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::text {

std::string to_base64(std::string_view bytes);
// kInvalidArgument for other characters, white space, wrong padding or bits left over: one text per
// value.
Result<std::string> from_base64(std::string_view text);

}  // namespace kw::text
