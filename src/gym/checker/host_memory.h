// TensorMemory in the host's memory: memory files that executors map.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "gym/checker/tensor_memory.h"
#include "os/memory.h"

namespace kw::gym {

// A tensor's content at one moment: in place where nothing can write to it, otherwise copied.
struct HostSnapshot {
  // `source` may lie in `copy` already (a result that was gathered).
  void fix(std::span<const std::byte> source, bool is_still);

  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;
};

// All that TensorMemory promises, over bytes that a derived class holds.
class HostTensors : public TensorMemory {
 public:
  std::span<std::byte> bytes() const { return bytes_; }
  std::span<std::byte> tensor(std::size_t i) const {
    return bytes_.subspan(layout().offset(i), layout().bytes(i));
  }

  Status fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) override;
  Status write(std::size_t i, std::span<const std::byte> bytes) override;
  Status edit(std::size_t i, std::size_t first, std::size_t count,
              const std::function<void(std::span<std::byte>)>& change) override {
    change(tensor(i).subspan(first, count));
    return {};
  }
  Result<std::span<const std::byte>> view(std::size_t i) const override { return tensor(i); }
  Result<std::uint64_t> hash(std::uint64_t secret_seed, std::size_t sample_bytes) const override;
  Status poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) override;
  Status write_canaries(std::uint64_t secret_seed) override;
  Result<bool> canaries_intact(std::uint64_t secret_seed) const override;
  Status clear() override;
  Status take_snapshot(std::size_t i, bool is_still) override;
  Result<std::span<const std::byte>> snapshot(std::size_t i) const override {
    return snapshots_[i].bytes;
  }

 protected:
  // bytes: of the layout's size; the derived class keeps them as long as it lives.
  HostTensors(Layout layout, std::span<std::byte> bytes)
      : TensorMemory(std::move(layout)), bytes_(bytes), snapshots_(this->layout().count()) {}

 private:
  std::span<std::byte> bytes_;
  std::vector<HostSnapshot> snapshots_;
};

// ResultArena over bytes that a derived class holds.
class HostArena : public ResultArena {
 public:
  std::size_t bytes() const override { return bytes_.size(); }
  std::span<std::byte> memory() const { return bytes_; }
  Status clear() override;
  Status take_snapshot(std::size_t number, const OutputReport& report, std::size_t tensor_bytes,
                       bool is_still) override;
  Result<std::span<const std::byte>> snapshot(std::size_t number) const override {
    return snapshots_[number].bytes;
  }

 protected:
  explicit HostArena(std::span<std::byte> bytes) : bytes_(bytes) {}

 private:
  std::span<std::byte> bytes_;
  std::vector<HostSnapshot> snapshots_;
};

// Memory files: sealed ones can be written through the checker's mapping only.
class HostAllocator : public TensorAllocator {
 public:
  Result<std::unique_ptr<TensorMemory>> allocate(const char* name, Layout layout,
                                                 bool seal) override;
  Result<std::unique_ptr<ResultArena>> allocate_arena(std::size_t bytes) override;
};

}  // namespace kw::gym
