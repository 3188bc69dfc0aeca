// TensorMemory in a GPU's memory. Kernels draw most inputs and all poison where they lie; rare
// distributions are drawn on the host and copied. A seed gives the same bytes as in host memory,
// and the oracle on the CPU sees what kernels see.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gym/checker/tensor_memory.h"
#include "gym/cuda/device_bytes.h"
#include "gym/cuda/device_reports.h"
#include "gym/cuda/kernel_tasks.h"

namespace kw::gym {

// The snapshot of a still executor is the memory itself, copied to the host when it is first asked
// for.
class DeviceTensors final : public TensorMemory {
 public:
  // kernels, reports: of the bytes' source. Borrowed.
  DeviceTensors(Layout layout, std::unique_ptr<DeviceBytes> bytes, KernelRunner* kernels,
                DeviceReports& reports);

  int descriptor() const override { return bytes_->descriptor(); }
  Status fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) override;
  Status write(std::size_t i, std::span<const std::byte> bytes) override;
  Status copy(const TensorMemory& from) override;
  Status edit(std::size_t i, std::size_t first, std::size_t count,
              const std::function<void(std::span<std::byte>)>& change) override;
  Result<std::span<const std::byte>> view(std::size_t i) const override;
  Result<std::uint64_t> hash(std::uint64_t secret_seed, std::size_t sample_bytes) const override;
  Result<Later<std::uint64_t>> hash_later(std::uint64_t secret_seed,
                                          std::size_t sample_bytes) const override;
  Status poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) override;
  Status write_canaries(std::uint64_t secret_seed) override;
  Result<bool> canaries_intact(std::uint64_t secret_seed) const override;
  Result<Later<bool>> canaries_intact_later(std::uint64_t secret_seed) const override;
  Status settle() const override { return bytes_->settle(); }
  Status clear() override { return bytes_->zero(); }
  Status take_snapshot(std::size_t i, bool is_still) override;
  Result<std::span<const std::byte>> snapshot(std::size_t i) const override;
  Result<std::vector<std::byte>> snapshot_copy(std::size_t i) const override;
  Result<std::vector<std::byte>> snapshot_part(std::size_t i, const Selection& part,
                                               std::size_t element_bytes) const override;
  std::optional<std::uint64_t> snapshot_address(std::size_t i) const override;

 private:
  struct Snapshot {
    std::vector<std::byte> bytes;
    bool is_copied = true;     // bytes are those of the last snapshot
    bool is_in_place = false;  // the memory itself is the last snapshot
  };
  std::uint64_t address(std::size_t i) const { return bytes_->address() + layout().offset(i); }

  // The source must have kernels.
  Result<kernels::RangesTask> bands(std::uint64_t secret_seed) const;

  std::unique_ptr<DeviceBytes> bytes_;
  KernelRunner* kernels_;
  DeviceReports* reports_;
  mutable std::vector<Snapshot> snapshots_;
  mutable std::vector<std::vector<std::byte>> views_;  // of view(), copied at each call
};

// Results are written to tensors of the checker's: there is no arena.
class DeviceAllocator : public TensorAllocator {
 public:
  explicit DeviceAllocator(std::unique_ptr<DeviceSource> source)
      : source_(std::move(source)), reports_(*source_) {}
  // seal is a promise of the executor's mapping, which it makes for reading only: it runs no host
  // code of candidates. The allocator outlives what it makes.
  Result<std::unique_ptr<TensorMemory>> allocate(const char* name, Layout layout,
                                                 bool seal) override;
  // kUnsupported.
  Result<std::unique_ptr<ResultArena>> allocate_arena(std::size_t bytes) override;
  // For whoever works on the same memory.
  DeviceSource& source() { return *source_; }
  DeviceReports& reports() { return reports_; }

 private:
  std::unique_ptr<DeviceSource> source_;
  DeviceReports reports_;
};

}  // namespace kw::gym
