// Result<T>: a value or an Error. KW_TRY unwraps or returns the error to the caller.
#pragma once
#include <string>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

#include "base/error.h"

namespace kw {

// A class of our own, because tl::expected 1.0 is not [[nodiscard]]: a dropped one would pass in
// silence.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return fail(code, fmt::format(format, std::forward<Args>(args)...));
}

// An errno of the operating system as an Error: "cannot open x: No such file or directory".
tl::unexpected<Error> fail_errno(int error_number, const std::string& what);

}  // namespace kw

#define KW_CONCAT_INNER(a, b) a##b
#define KW_CONCAT(a, b) KW_CONCAT_INNER(a, b)
#define KW_TRY_IMPL(tmp, lhs, expr)                        \
  auto tmp = (expr);                                       \
  if (!tmp) return tl::unexpected(std::move(tmp).error()); \
  lhs = std::move(tmp).value()
// KW_TRY(auto x, f()): x is f's value, or this function returns f's error.
#define KW_TRY(lhs, expr) KW_TRY_IMPL(KW_CONCAT(kw_try_, __LINE__), lhs, expr)
// KW_TRY_STATUS(f()): returns f's error if it has one.
#define KW_TRY_STATUS(expr)                                                                       \
  do {                                                                                            \
    if (auto kw_status = (expr); !kw_status) return tl::unexpected(std::move(kw_status).error()); \
  } while (false)
