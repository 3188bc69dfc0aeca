// A test looks at so many random problems.
#pragma once
#include <cstdint>

namespace kw::writer {

// n, or a quarter of it under a sanitizer (GCC's macros), where a problem costs some thirty times
// as much.
constexpr std::uint64_t draws(std::uint64_t n) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return n / 4;
#else
  return n;
#endif
}

}  // namespace kw::writer
