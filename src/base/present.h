// present(): an optional that cannot be empty here.
#pragma once
#include <optional>

#include "base/check.h"

namespace kw {

template <typename T>
const T& present(const std::optional<T>& value) {
  KW_CHECK(value.has_value());
  return *value;
}
template <typename T>
T& present(std::optional<T>& value) {
  KW_CHECK(value.has_value());
  return *value;
}

}  // namespace kw
