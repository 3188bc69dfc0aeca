// Fills, hashes, canaries and snapshots of host memory.
#include "gym/checker/host_memory.h"

#include <algorithm>
#include <cstring>

#include "gym/checker/tensor_bytes.h"
#include "gym/correctness/returned.h"
#include "gym/inputs/fill.h"
#include "gym/inputs/poison.h"
#include "os/parallel.h"

namespace kw::gym {
namespace {

constexpr std::size_t kZeroedPiece = 1ULL << 20U;

void zero(std::span<std::byte> bytes) {
  os::in_parallel_pieces(bytes.size(), kZeroedPiece, 1, [&](std::size_t first, std::size_t last) {
    std::memset(bytes.data() + first, 0, last - first);
  });
}

struct MemoryFile {
  os::UniqueFd fd;
  os::Mapping mapping;

  static Result<MemoryFile> make(const char* name, std::size_t bytes, bool seal) {
    MemoryFile file;
    KW_TRY(file.fd, os::make_memory_file(name, bytes));
    KW_TRY(file.mapping, os::Mapping::shared(file.fd.get(), bytes, true));
    KW_TRY_STATUS(seal ? os::seal_against_new_writers(file.fd.get())
                       : os::seal_seals(file.fd.get()));
    return file;
  }
};

class SharedTensors final : public HostTensors {
 public:
  SharedTensors(Layout layout, MemoryFile file)
      : HostTensors(std::move(layout), file.mapping.bytes()), file_(std::move(file)) {}
  int descriptor() const override { return file_.fd.get(); }

 private:
  MemoryFile file_;
};

class SharedArena final : public HostArena {
 public:
  explicit SharedArena(MemoryFile file) : HostArena(file.mapping.bytes()), file_(std::move(file)) {}
  int descriptor() const override { return file_.fd.get(); }

 private:
  MemoryFile file_;
};

}  // namespace

void HostSnapshot::fix(std::span<const std::byte> source, bool is_still) {
  bytes = source;
  if (is_still || bytes.data() == copy.data()) return;
  copy.assign(bytes.begin(), bytes.end());
  bytes = copy;
}

Status HostTensors::fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) {
  return fill_input(spec.dtype, spec.shape, spec.policy, seed, tensor(i));
}

Status HostTensors::write(std::size_t i, std::span<const std::byte> bytes) {
  const std::span<std::byte> to = tensor(i);
  if (!to.empty()) std::memcpy(to.data(), bytes.data(), std::min(to.size(), bytes.size()));
  return {};
}

Result<std::uint64_t> HostTensors::hash(std::uint64_t secret_seed, std::size_t sample_bytes) const {
  return hash_tensors(layout(), secret_seed, sample_bytes,
                      [this](std::size_t offset, std::size_t bytes) {
                        return Result<std::span<const std::byte>>(bytes_.subspan(offset, bytes));
                      });
}

Status HostTensors::poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) {
  kw::gym::poison(dtype, seed, tensor(i));
  return {};
}

Status HostTensors::write_canaries(std::uint64_t secret_seed) {
  for_bands(layout(), [&](std::size_t start, std::size_t end) {
    write_canary(secret_seed + start, bytes_.subspan(start, end - start));
  });
  return {};
}

Result<bool> HostTensors::canaries_intact(std::uint64_t secret_seed) const {
  bool intact = true;
  for_bands(layout(), [&](std::size_t start, std::size_t end) {
    intact = canary_intact(secret_seed + start, bytes_.subspan(start, end - start)) && intact;
  });
  return intact;
}

Status HostTensors::clear() {
  zero(bytes_);
  return {};
}

Status HostTensors::take_snapshot(std::size_t i, bool is_still) {
  snapshots_[i].fix(tensor(i), is_still);
  return {};
}

Status HostArena::clear() {
  zero(bytes_);
  return {};
}

Status HostArena::take_snapshot(std::size_t number, const OutputReport& report,
                                std::size_t tensor_bytes, bool is_still) {
  if (number >= snapshots_.size()) snapshots_.resize(number + 1);
  HostSnapshot& snapshot = snapshots_[number];
  snapshot.fix(returned_bytes(report, bytes_, tensor_bytes, snapshot.copy), is_still);
  return {};
}

Result<std::unique_ptr<TensorMemory>> HostAllocator::allocate(const char* name, Layout layout,
                                                              bool seal) {
  KW_TRY(MemoryFile file, MemoryFile::make(name, layout.total_bytes(), seal));
  return std::make_unique<SharedTensors>(std::move(layout), std::move(file));
}

Result<std::unique_ptr<ResultArena>> HostAllocator::allocate_arena(std::size_t bytes) {
  KW_TRY(MemoryFile file, MemoryFile::make("arena", bytes, false));
  return std::make_unique<SharedArena>(std::move(file));
}

}  // namespace kw::gym
