// Later: a value that is known already, or that its first use waits for.
#pragma once
#include <functional>
#include <utility>
#include <variant>

#include "base/result.h"

namespace kw {

// The caller keeps what the wait needs alive until get(). get() runs on threads that the wait may
// run on.
template <typename T>
class Later {
 public:
  using Wait = std::function<Result<T>()>;
  explicit Later(T value) : from_(std::in_place_index<0>, std::move(value)) {}
  explicit Later(Wait wait) : from_(std::in_place_index<1>, std::move(wait)) {}

  // At most once. Errors are the wait's.
  Result<T> get() {
    if (T* value = std::get_if<0>(&from_)) return std::move(*value);
    return std::get<1>(from_)();
  }

 private:
  std::variant<T, Wait> from_;
};

}  // namespace kw
