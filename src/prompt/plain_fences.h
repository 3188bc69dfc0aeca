// Answers with the invisible characters that editors and chat windows leave around a fence.
#pragma once
#include <string>
#include <string_view>

namespace kw::prompt {

// The answer with a byte order mark taken off every line's begin, and with plain fences: on a line
// whose first visible characters are ``` or ~~~ (or > and these), zero-width characters are left
// out and Unicode's other spaces are blanks. Other lines are as they were: a no-break space in a
// string of the code belongs to the code.
std::string plain_fences(std::string_view answer);

}  // namespace kw::prompt
