#include "gym/cuda/device_memory.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "gym/checker/tensor_bytes.h"
#include "gym/cuda/device_draws.h"
#include "gym/inputs/fill.h"
#include "gym/inputs/poison.h"

namespace kw::gym {
namespace {

// Without kernels each block of a hash is a copy to the host. Executors map inputs for reading
// only, which the hash seconds.
constexpr std::size_t kMaxCopied = std::size_t{128} * 1024;
// A block of threads takes so many bytes; each thread reads one word after the other.
constexpr std::size_t kHashedByBlock = std::size_t{8} * 1024, kBandOfBlock = 1024;
constexpr unsigned kThreads = 256, kMaxRangeBlocks = 64;

Status add_range(kernels::RangesTask& task, const kernels::RangesTask::Range& range) {
  if (task.count == kernels::kMaxRanges)
    return fail(ErrorCode::kInternal, "more than {} ranges of a memory", task.count);
  task.ranges[task.count++] = range;
  return {};
}

std::size_t bytes_of(const kernels::RangesTask& task) {
  std::size_t sum = 0;
  for (unsigned i = 0; i < task.count; ++i) sum += task.ranges[i].bytes;
  return sum;
}

Status run_on_ranges(KernelRunner& kernels, std::string_view kernel, std::size_t bytes_of_block,
                     kernels::RangesTask& task) {
  if (task.count == 0) return {};
  std::size_t longest = 0;
  for (unsigned i = 0; i < task.count; ++i)
    longest = std::max<std::size_t>(longest, task.ranges[i].bytes);
  task.blocks = static_cast<unsigned>(
      std::clamp<std::size_t>(pieces_of(longest, bytes_of_block), 1, kMaxRangeBlocks));
  return kernels.run(kernel, {.blocks = task.count * task.blocks, .threads = kThreads}, &task);
}

// The sum over the ranges, once the kernel has seen all of them.
Later<std::uint64_t> sum_later(DeviceReports& reports, const DeviceReports::Report& report,
                               std::size_t bytes) {
  return Later<std::uint64_t>([&reports, report, bytes]() -> Result<std::uint64_t> {
    KW_TRY(auto found, reports.read<kernels::RangesReport>(report));
    if (found.seen != bytes)
      return fail(ErrorCode::kInternal, "the GPU looked at {} bytes of {}", found.seen, bytes);
    return found.sum;
  });
}

}  // namespace

DeviceTensors::DeviceTensors(Layout layout, std::unique_ptr<DeviceBytes> bytes,
                             KernelRunner* kernels, DeviceReports& reports)
    : TensorMemory(std::move(layout)),
      bytes_(std::move(bytes)),
      kernels_(kernels),
      reports_(&reports),
      snapshots_(this->layout().count()),
      views_(this->layout().count()) {}

Status DeviceTensors::fill(std::size_t i, const InputSpec& spec, std::uint64_t seed) {
  KW_TRY_STATUS(check_distribution(spec.dtype, spec.shape, spec.policy));
  if (kernels_ != nullptr) {
    if (const auto recipe = recipe_of(spec.dtype, spec.policy))
      return draw_on_device(*kernels_, address(i), spec, *recipe, seed);
  }
  std::vector<std::byte> values(layout().bytes(i));
  KW_TRY_STATUS(fill_input(spec.dtype, spec.shape, spec.policy, seed, values));
  return bytes_->upload(layout().offset(i), values);
}

Status DeviceTensors::write(std::size_t i, std::span<const std::byte> bytes) {
  return bytes_->upload(layout().offset(i), bytes.first(std::min(bytes.size(), layout().bytes(i))));
}

// On the GPU; both are of one allocator.
Status DeviceTensors::copy(const TensorMemory& from) {
  const auto& other = dynamic_cast<const DeviceTensors&>(from);
  for (std::size_t i = 0; i < layout().count(); ++i)
    KW_TRY_STATUS(bytes_->copy(layout().offset(i), *other.bytes_, other.layout().offset(i),
                               layout().bytes(i)));
  return {};
}

Status DeviceTensors::edit(std::size_t i, std::size_t first, std::size_t count,
                           const std::function<void(std::span<std::byte>)>& change) {
  std::vector<std::byte>& part = views_[i];
  part.resize(count);
  KW_TRY_STATUS(bytes_->download(layout().offset(i) + first, part));
  change(part);
  return bytes_->upload(layout().offset(i) + first, part);
}

Result<std::span<const std::byte>> DeviceTensors::view(std::size_t i) const {
  views_[i].resize(layout().bytes(i));
  KW_TRY_STATUS(bytes_->download(layout().offset(i), views_[i]));
  return views_[i];
}

Result<std::uint64_t> DeviceTensors::hash(std::uint64_t secret_seed,
                                          std::size_t sample_bytes) const {
  if (kernels_ != nullptr) {
    KW_TRY(Later<std::uint64_t> later, hash_later(secret_seed, sample_bytes));
    return later.get();
  }
  std::vector<std::byte> copy;
  return hash_tensors(
      layout(), secret_seed, std::min(sample_bytes, kMaxCopied),
      [&](std::size_t offset, std::size_t bytes) -> Result<std::span<const std::byte>> {
        copy.resize(bytes);
        KW_TRY_STATUS(bytes_->download(offset, copy));
        return copy;
      });
}

Result<Later<std::uint64_t>> DeviceTensors::hash_later(std::uint64_t secret_seed,
                                                       std::size_t sample_bytes) const {
  if (kernels_ == nullptr) return TensorMemory::hash_later(secret_seed, sample_bytes);
  kernels::RangesTask task{};
  Rng seeds(~secret_seed);
  KW_TRY_STATUS(for_hashed_blocks(
      layout(), secret_seed, sample_bytes, [&](std::size_t start, std::size_t bytes) {
        return add_range(task, {bytes_->address() + start, bytes, seeds.next()});
      }));
  KW_TRY(const DeviceReports::Report report, reports_->make());
  task.report = report.address;
  KW_TRY_STATUS(run_on_ranges(*kernels_, "kw_hash", kHashedByBlock, task));
  return sum_later(*reports_, report, bytes_of(task));
}

Status DeviceTensors::poison(std::size_t i, tensor::DType dtype, std::uint64_t seed) {
  if (kernels_ != nullptr)
    return poison_on_device(*kernels_, address(i), layout().bytes(i), dtype, seed);
  std::vector<std::byte> values(layout().bytes(i));
  kw::gym::poison(dtype, seed, values);
  return bytes_->upload(layout().offset(i), values);
}

Result<kernels::RangesTask> DeviceTensors::bands(std::uint64_t secret_seed) const {
  kernels::RangesTask task{};
  Status status;
  for_bands(layout(), [&](std::size_t start, std::size_t end) {
    if (status && end > start)
      status = add_range(task, {bytes_->address() + start, end - start, secret_seed + start});
  });
  KW_TRY_STATUS(std::move(status));
  return task;
}

Status DeviceTensors::write_canaries(std::uint64_t secret_seed) {
  Status status;
  if (kernels_ != nullptr) {
    kernels::RangesTask task{};
    const auto run = [&] {
      if (status) status = run_on_ranges(*kernels_, "kw_write_canaries", kBandOfBlock, task);
      task.count = 0;
    };
    for_bands(layout(), [&](std::size_t start, std::size_t end) {
      if (!status || end <= start) return;
      status = add_range(task, {bytes_->address() + start, end - start, secret_seed + start});
      if (task.count == kernels::kMaxRanges) run();
    });
    run();
    return status;
  }
  std::vector<std::byte> band;
  for_bands(layout(), [&](std::size_t start, std::size_t end) {
    if (!status) return;
    band.resize(end - start);
    write_canary(secret_seed + start, band);
    status = bytes_->upload(start, band);
  });
  return status;
}

Result<Later<bool>> DeviceTensors::canaries_intact_later(std::uint64_t secret_seed) const {
  if (kernels_ == nullptr) return TensorMemory::canaries_intact_later(secret_seed);
  KW_TRY(kernels::RangesTask task, bands(secret_seed));
  KW_TRY(const DeviceReports::Report report, reports_->make());
  task.report = report.address;
  KW_TRY_STATUS(run_on_ranges(*kernels_, "kw_check_canaries", kBandOfBlock, task));
  Later<std::uint64_t> broken = sum_later(*reports_, report, bytes_of(task));
  return Later<bool>([broken = std::move(broken)]() mutable -> Result<bool> {
    KW_TRY(const std::uint64_t bytes, broken.get());
    return bytes == 0;
  });
}

Result<bool> DeviceTensors::canaries_intact(std::uint64_t secret_seed) const {
  if (kernels_ != nullptr) {
    KW_TRY(Later<bool> later, canaries_intact_later(secret_seed));
    return later.get();
  }
  Status status;
  bool intact = true;
  std::vector<std::byte> band;
  for_bands(layout(), [&](std::size_t start, std::size_t end) {
    if (!status) return;
    band.resize(end - start);
    status = bytes_->download(start, band);
    intact = intact && status && canary_intact(secret_seed + start, band);
  });
  KW_TRY_STATUS(std::move(status));
  return intact;
}

Status DeviceTensors::take_snapshot(std::size_t i, bool is_still) {
  snapshots_[i].is_copied = false;
  snapshots_[i].is_in_place = is_still;
  if (is_still) return {};
  KW_TRY(auto copied, snapshot(i));
  (void)copied;
  return {};
}

Result<std::span<const std::byte>> DeviceTensors::snapshot(std::size_t i) const {
  Snapshot& snapshot = snapshots_[i];
  if (!snapshot.is_copied) {
    snapshot.bytes.resize(layout().bytes(i));
    KW_TRY_STATUS(bytes_->download(layout().offset(i), snapshot.bytes));
    snapshot.is_copied = true;
  }
  return snapshot.bytes;
}

Result<std::vector<std::byte>> DeviceTensors::snapshot_copy(std::size_t i) const {
  if (!snapshots_[i].is_in_place || snapshots_[i].is_copied) return TensorMemory::snapshot_copy(i);
  std::vector<std::byte> out(layout().bytes(i));
  KW_TRY_STATUS(bytes_->download(layout().offset(i), out));
  return out;
}

Result<std::vector<std::byte>> DeviceTensors::snapshot_part(std::size_t i, const Selection& part,
                                                            std::size_t element_bytes) const {
  if (!snapshots_[i].is_in_place) return TensorMemory::snapshot_part(i, part, element_bytes);
  std::vector<std::byte> out(part.elements() * element_bytes);
  std::span<std::byte> rest = out;
  Status status;
  part.for_runs([&](std::size_t first, std::size_t count) {
    const std::size_t bytes = count * element_bytes;
    if (status)
      status = bytes_->download(layout().offset(i) + first * element_bytes, rest.first(bytes));
    rest = rest.subspan(bytes);
  });
  KW_TRY_STATUS(std::move(status));
  return out;
}

std::optional<std::uint64_t> DeviceTensors::snapshot_address(std::size_t i) const {
  return snapshots_[i].is_in_place ? std::optional(address(i)) : std::nullopt;
}

Result<std::unique_ptr<TensorMemory>> DeviceAllocator::allocate(const char* /*name*/, Layout layout,
                                                                bool /*seal*/) {
  KW_TRY(std::unique_ptr<DeviceBytes> bytes, source_->make(layout.total_bytes()));
  return std::make_unique<DeviceTensors>(std::move(layout), std::move(bytes), source_->kernels(),
                                         reports_);
}

Result<std::unique_ptr<ResultArena>> DeviceAllocator::allocate_arena(std::size_t /*bytes*/) {
  return fail(ErrorCode::kUnsupported,
              "candidates on the GPU write to given outputs: there is no arena for results");
}

}  // namespace kw::gym
