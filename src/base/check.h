// KW_CHECK: a bug of ours ends the process with file, line and what was expected. Never reachable
// from user input.
#pragma once

namespace kw {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

// An expression, so that the compiler knows without optimising that KW_CHECK(false) does not
// return.
#define KW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::kw::check_failed(__FILE__, __LINE__, #condition))
