#include "train/cuda/transfer.h"

#include <array>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "base/check.h"
#include "cuda/memory.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::PinnedBuffer;
using kw::cuda::Stream;

constexpr std::size_t kRingBytes = 16ULL << 20U;  // of one of two
constexpr std::size_t kMaxNumbers = 64;

// Page-locked memory in two halves. A half is written again when the copies from it are done.
class UploadRing {
 public:
  UploadRing() {
    kernels();  // makes the context current
    for (Half& half : halves_) {
      half.memory = checked(PinnedBuffer::make(kRingBytes));
      half.read = checked(Event::make());
    }
  }

  // The host waits where both halves are still being read.
  const std::byte* keep(const void* bytes, std::size_t count) {
    KW_CHECK(count <= kRingBytes);
    if (used_ + count > kRingBytes) {
      checked(stream_.record(halves_[at_].read));
      at_ = 1 - at_;
      checked(halves_[at_].read.synchronize());
      used_ = 0;
    }
    std::byte* const place = halves_[at_].memory.data() + used_;
    std::memcpy(place, bytes, count);
    used_ += (count + 255) / 256 * 256;
    return place;
  }
  const Stream& stream() const { return stream_; }

 private:
  struct Half {
    PinnedBuffer memory;
    Event read;  // a new event counts as complete
  };
  std::array<Half, 2> halves_;
  std::size_t at_ = 0, used_ = 0;
  Stream stream_;  // torch's
};

}  // namespace

at::Tensor upload(const at::Tensor& host) {
  TORCH_CHECK(host.is_contiguous() && host.is_cpu(), "what is uploaded is not contiguous memory");
  if (host.nbytes() == 0 || host.nbytes() > kRingBytes) return host.to(at::Device(at::kCUDA, 0));
  // Never destroyed: the driver may have gone before this library's objects do.
  static auto* const ring = new UploadRing();
  const at::Tensor out = at::empty(host.sizes(), host.options().device(at::Device(at::kCUDA, 0)));
  checked(ring->stream().copy(address(out), ring->keep(host.const_data_ptr(), host.nbytes()),
                              host.nbytes()));
  return out;
}

struct DeferredNumbers::Place {
  PinnedBuffer memory = checked(PinnedBuffer::make(kMaxNumbers * sizeof(double)));
  Event written = checked(Event::make());
};

DeferredNumbers::DeferredNumbers(const at::Tensor& values)
    : count_(static_cast<std::size_t>(values.numel())) {
  TORCH_CHECK(values.scalar_type() == at::kDouble && values.is_contiguous());
  TORCH_CHECK(count_ <= kMaxNumbers, "too many numbers");
  if (values.is_cpu()) {
    const auto* first = values.const_data_ptr<double>();
    known_.assign(first, first + count_);
    return;
  }
  // Places are taken by turns: page-locked memory takes long to make. Two of them are enough for
  // a step that is waited for while the next one runs.
  static auto* const places = new std::array<std::shared_ptr<Place>, 4>();
  for (std::shared_ptr<Place>& place : *places) {
    if (place == nullptr) place = std::make_shared<Place>();
    if (place.use_count() > 1) continue;
    place_ = place;
    break;
  }
  if (place_ == nullptr) place_ = std::make_shared<Place>();
  const Stream stream;  // torch's
  checked(stream.copy(place_->memory.data(), address(values), values.nbytes()));
  checked(stream.record(place_->written));
}

std::vector<double> DeferredNumbers::wait() {
  if (place_ == nullptr) return std::exchange(known_, {});
  checked(place_->written.synchronize());
  const auto* first = place_->memory.as<double>();
  std::vector<double> out(first, first + count_);
  place_.reset();
  return out;
}

}  // namespace kw::train::cuda
