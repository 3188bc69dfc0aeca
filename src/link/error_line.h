// An error as a line of text between two programs of ours: "!CODE MESSAGE".
#pragma once
#include <string_view>

#include "base/error.h"

namespace kw::link {

// Anything else than such a line is kInternal with the line as message.
Error error_of_line(std::string_view line);

}  // namespace kw::link
