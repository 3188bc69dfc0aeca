// What an error says on a terminal: one line, whatever a library or a problem's own code wrote.
#pragma once
#include <string>
#include <string_view>

namespace kw::front {

// Of a Python traceback only the place in the problem's file and the exception stay; other lines
// are joined. Control characters are replaced. JSON output keeps the whole message.
std::string one_line(std::string_view message);

}  // namespace kw::front
