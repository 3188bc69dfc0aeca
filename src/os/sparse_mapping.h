// SparseMapping: shared memory of which most stays unused.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace kw::os {

// As Mapping::shared(), writable, but a page is there only once somebody touches it. Movable.
class SparseMapping {
 public:
  SparseMapping() = default;
  static Result<SparseMapping> shared(int fd, std::size_t bytes);
  SparseMapping(SparseMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  SparseMapping& operator=(SparseMapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  SparseMapping(const SparseMapping&) = delete;
  SparseMapping& operator=(const SparseMapping&) = delete;
  ~SparseMapping();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace kw::os
