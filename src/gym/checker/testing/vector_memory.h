// For tests: tensor memory that is a vector of this process.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "gym/checker/host_memory.h"

namespace kw::gym::testing {

struct AlignedBytes {
  explicit AlignedBytes(std::size_t bytes) : units((bytes + sizeof(Unit) - 1) / sizeof(Unit)) {}
  std::span<std::byte> span(std::size_t bytes) {
    return std::as_writable_bytes(std::span(units)).first(bytes);
  }
  struct alignas(64) Unit {
    std::byte bytes[64];
  };
  std::vector<Unit> units;
};

class VectorTensors : private AlignedBytes, public HostTensors {
 public:
  explicit VectorTensors(const Layout& layout)
      : AlignedBytes(layout.total_bytes()), HostTensors(layout, span(layout.total_bytes())) {}
  int descriptor() const override { return -1; }
};

// Counts who waits for what was written.
class SettledTensors final : public VectorTensors {
 public:
  using VectorTensors::VectorTensors;
  Status settle() const override {
    settled += 1;
    return {};
  }
  mutable int settled = 0;
};

class VectorArena final : private AlignedBytes, public HostArena {
 public:
  explicit VectorArena(std::size_t bytes) : AlignedBytes(bytes), HostArena(span(bytes)) {}
  int descriptor() const override { return -1; }
};

class VectorAllocator final : public TensorAllocator {
 public:
  Result<std::unique_ptr<TensorMemory>> allocate(const char*, Layout layout, bool) override {
    ++allocations;
    return std::make_unique<VectorTensors>(std::move(layout));
  }
  Result<std::unique_ptr<ResultArena>> allocate_arena(std::size_t bytes) override {
    return std::make_unique<VectorArena>(bytes);
  }

  int allocations = 0;  // number of tensors allocated
};

}  // namespace kw::gym::testing
