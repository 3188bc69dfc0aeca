// TensorMemory in a GPU's memory. Values are drawn on the host by the host's generator and copied,
// so a seed gives the same bytes as in host memory, and the oracle on the CPU sees what kernels
// see.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gym/checker/tensor_memory.h"
#include "gym/cuda/device_bytes.h"

namespace kw::gym {

// Snapshots are copies to the host, whether an executor is still or not: nothing on a GPU can be
// read in place.
class DeviceTensors final : public TensorMemory {
 public:
  DeviceTensors(Layout layout, std::unique_ptr<DeviceBytes> bytes);

  int descriptor() const override { return bytes_->descriptor(); }
  Status fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) override;
  Status write(std::size_t i, std::span<const std::byte> bytes) override;
  Status edit(std::size_t i, const std::function<void(std::span<std::byte>)>& change) override;
  Result<std::span<const std::byte>> view(std::size_t i) const override;
  Result<std::uint64_t> hash(std::uint64_t secret_seed, std::size_t sample_bytes) const override;
  Status poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) override;
  Status write_canaries(std::uint64_t secret_seed) override;
  Result<bool> canaries_intact(std::uint64_t secret_seed) const override;
  Status clear() override { return bytes_->zero(); }
  Status take_snapshot(std::size_t i, bool is_still) override;
  Result<std::span<const std::byte>> snapshot(std::size_t i) const override {
    return snapshots_[i];
  }

 private:
  std::unique_ptr<DeviceBytes> bytes_;
  std::vector<std::vector<std::byte>> snapshots_;
  mutable std::vector<std::vector<std::byte>> views_;  // of view(), copied at each call
};

// Results are written to tensors of the checker's: there is no arena.
class DeviceAllocator : public TensorAllocator {
 public:
  explicit DeviceAllocator(std::unique_ptr<DeviceSource> source) : source_(std::move(source)) {}
  // seal is a promise of the executor's mapping, which it makes for reading only: it runs no host
  // code of candidates. The allocator outlives what it makes.
  Result<std::unique_ptr<TensorMemory>> allocate(const char* name, Layout layout,
                                                 bool seal) override;
  // kUnsupported.
  Result<std::unique_ptr<ResultArena>> allocate_arena(std::size_t bytes) override;

 private:
  std::unique_ptr<DeviceSource> source_;
};

}  // namespace kw::gym
