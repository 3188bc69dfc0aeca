// KW_CHECK: a bug of ours ends the process with file, line and what was expected. Never reachable
// from user input.
#pragma once

namespace kw {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

#define KW_CHECK(condition)                                               \
  do {                                                                    \
    if (!(condition)) ::kw::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
