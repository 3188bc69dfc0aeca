// TensorMemory: one buffer set of a workload, wherever it lies. The checker owns it; an executor
// maps it by its descriptor.
//
// The host's implementation is a memory file (host_memory.h). A CUDA implementation fits behind the
// same calls: fill, hash, poison, canaries and clear are kernels of the checker's context, a
// snapshot is the memory itself while the executor is still, and view() and snapshot() copy to the
// host when they are first asked. Where a read-only mapping does
// not bind the executor's host code, that implementation may also draw inputs in a fresh allocation
// at every fill(): executors read descriptor() and offsets anew at each launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/later.h"
#include "base/random.h"
#include "base/result.h"
#include "gym/checker/layout.h"
#include "gym/correctness/selection.h"
#include "gym/protocol.h"
#include "task/problem.h"
#include "tensor/dtype.h"

namespace kw::gym {

// The distribution that a generated tensor is drawn from.
struct InputSpec {
  tensor::DType dtype = tensor::DType::kFloat32;
  std::vector<std::int64_t> shape;
  task::InputPolicy policy;
};

// One thread, the checker's. Every Error is ours or the machine's, never a candidate's fault.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  const Layout& layout() const { return layout_; }
  // Draws new places for all tensors; what they held is undefined until it is written again.
  void move(Rng& rng) { layout_.move(rng); }

  // A descriptor by which another process maps the memory: a memory file, or an exported device
  // allocation. -1 where there is none (in-memory fakes).
  virtual int descriptor() const = 0;

  // Fills tensor i with fresh values. The same spec and seed give the same bytes every time, since
  // audits fill a set again with inputs whose right outputs are known.
  virtual Status fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) = 0;
  // Copies the bytes to the start of tensor i; the shorter of the two decides how many.
  virtual Status write(std::size_t i, std::span<const std::byte> bytes) = 0;
  // Copies all tensors of other memory of the same allocator, whose tensors have the same sizes.
  virtual Status copy(const TensorMemory& from) {
    for (std::size_t i = 0; i < layout_.count(); ++i) {
      KW_TRY(auto bytes, from.view(i));
      KW_TRY_STATUS(write(i, bytes));
    }
    return {};
  }
  // Lets the caller change bytes [first, first + count) of tensor i on the host: in place where
  // they lie there.
  virtual Status edit(std::size_t i, std::size_t first, std::size_t count,
                      const std::function<void(std::span<std::byte>)>& change) = 0;
  // The bytes of tensor i, readable on the host until the next write to this memory.
  virtual Result<std::span<const std::byte>> view(std::size_t i) const = 0;
  // A secret-seeded hash of all tensors, or of about sample_bytes of them in secret blocks.
  virtual Result<std::uint64_t> hash(std::uint64_t secret_seed, std::size_t sample_bytes) const = 0;
  // The same of the memory as it is now, which the GPU may still compute until somebody asks.
  // The memory outlives it.
  virtual Result<Later<std::uint64_t>> hash_later(std::uint64_t secret_seed,
                                                  std::size_t sample_bytes) const {
    KW_TRY(const std::uint64_t now, hash(secret_seed, sample_bytes));
    return Later<std::uint64_t>(now);
  }

  // Fills tensor i with values that no kernel may leave behind (inputs/poison.h).
  virtual Status poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) = 0;
  // Fills the bands around all tensors with secret bytes, and tells whether they still hold them.
  // A kernel that reads beside an input shows it in its result.
  virtual Status write_canaries(std::uint64_t secret_seed) = 0;
  virtual Result<bool> canaries_intact(std::uint64_t secret_seed) const = 0;
  virtual Result<Later<bool>> canaries_intact_later(std::uint64_t secret_seed) const {
    KW_TRY(const bool now, canaries_intact(secret_seed));
    return Later<bool>(now);
  }
  // Zeros the whole memory, so that nothing passes from one executor to the next. It is done after
  // settle().
  virtual Status clear() = 0;
  // Before another process reads what was written: waits until it is there, in all memory of the
  // same allocator.
  virtual Status settle() const { return {}; }

  // Fixes tensor i as it is now: what an executor writes later does not show in snapshot(i).
  // is_still: nothing can write to this memory before the next launch, so that it may be read in
  // place.
  virtual Status take_snapshot(std::size_t i, bool is_still) = 0;
  // The last snapshot of tensor i on the host: contiguous, valid until the next one or, where it
  // was still, until the next launch.
  virtual Result<std::span<const std::byte>> snapshot(std::size_t i) const = 0;
  // The same in memory of the caller's.
  virtual Result<std::vector<std::byte>> snapshot_copy(std::size_t i) const {
    KW_TRY(auto all, snapshot(i));
    return std::vector<std::byte>(all.begin(), all.end());
  }
  // A part of the last snapshot of tensor i.
  virtual Result<std::vector<std::byte>> snapshot_part(std::size_t i, const Selection& part,
                                                       std::size_t element_bytes) const {
    KW_TRY(auto all, snapshot(i));
    return part.of(all, element_bytes);
  }
  // The address on a GPU at which the last snapshot of tensor i lies; nullopt: on no GPU.
  virtual std::optional<std::uint64_t> snapshot_address(std::size_t /*i*/) const {
    return std::nullopt;
  }

 protected:
  explicit TensorMemory(Layout layout) : layout_(std::move(layout)) {}

 private:
  Layout layout_;
};

// Shared memory in which an executor allocates the results that a Python candidate returns. The
// place of a result is the executor's own claim (OutputReport). Only one thread may use it.
class ResultArena {
 public:
  virtual ~ResultArena() = default;
  virtual std::size_t bytes() const = 0;
  virtual int descriptor() const = 0;  // the same as TensorMemory's
  virtual Status clear() = 0;
  // Fixes one result of tensor_bytes bytes under a number of the caller's choice. The report has
  // passed check_returned() for this arena (correctness/returned.h). is_still: as TensorMemory's.
  virtual Status take_snapshot(std::size_t number, const OutputReport& report,
                               std::size_t tensor_bytes, bool is_still) = 0;
  // The last result fixed under this number: row-major, without gaps.
  virtual Result<std::span<const std::byte>> snapshot(std::size_t number) const = 0;
};

// Makes the memory of one target. One thread.
class TensorAllocator {
 public:
  virtual ~TensorAllocator() = default;
  // seal: executors can map the memory for reading only. name: shown to people who look at a
  // process.
  virtual Result<std::unique_ptr<TensorMemory>> allocate(const char* name, Layout layout,
                                                         bool seal) = 0;
  virtual Result<std::unique_ptr<ResultArena>> allocate_arena(std::size_t bytes) = 0;
};

}  // namespace kw::gym
