// The text of an error for a person or a program: one line, whatever a library or a problem's own
// code wrote.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace kw::front {

// Only the place in the problem's file and the exception stay of a Python traceback; other lines
// are joined. Control characters are replaced. JSON output keeps the whole message.
std::string one_line(std::string_view message);

// One line of JSON: {"error":{"code","message"}}. The message is whole.
std::string error_line(const Error& error);

}  // namespace kw::front
