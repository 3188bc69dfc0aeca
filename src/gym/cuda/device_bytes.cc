#include "gym/cuda/device_bytes.h"

#include <utility>

#include "cuda/shared_memory.h"
#include "cuda/stream.h"

namespace kw::gym {
namespace {

class CudaBytes final : public DeviceBytes {
 public:
  CudaBytes(cuda::SharedMemory memory, os::UniqueFd descriptor, const cuda::Stream& stream,
            std::size_t bytes)
      : memory_(std::move(memory)),
        descriptor_(std::move(descriptor)),
        stream_(stream),
        bytes_(bytes) {}

  std::size_t size() const override { return bytes_; }
  int descriptor() const override { return descriptor_.get(); }
  Status upload(std::size_t offset, std::span<const std::byte> from) override {
    if (from.empty()) return {};
    KW_TRY_STATUS(stream_.copy(memory_.address() + offset, from.data(), from.size()));
    return stream_.synchronize();
  }
  Status download(std::size_t offset, std::span<std::byte> to) const override {
    if (to.empty()) return {};
    KW_TRY_STATUS(stream_.copy(to.data(), memory_.address() + offset, to.size()));
    return stream_.synchronize();
  }
  Status zero() override {
    // The tail of the last granule too: nothing passes from one executor to the next.
    KW_TRY_STATUS(stream_.fill(memory_.address(), 0, memory_.bytes()));
    return stream_.synchronize();
  }

 private:
  cuda::SharedMemory memory_;
  os::UniqueFd descriptor_;
  const cuda::Stream& stream_;
  std::size_t bytes_;
};

class CudaSource final : public DeviceSource {
 public:
  CudaSource(cuda::Context context, cuda::Stream stream, int device)
      : context_(std::move(context)), stream_(std::move(stream)), device_(device) {}

  Result<std::unique_ptr<DeviceBytes>> make(std::size_t bytes) override {
    KW_TRY(cuda::SharedMemory memory, cuda::SharedMemory::make(device_, bytes));
    KW_TRY(os::UniqueFd descriptor, memory.export_descriptor());
    auto out =
        std::make_unique<CudaBytes>(std::move(memory), std::move(descriptor), stream_, bytes);
    KW_TRY_STATUS(out->zero());
    return out;
  }

 private:
  cuda::Context context_;  // outlives the stream
  cuda::Stream stream_;
  int device_;
};

}  // namespace

Result<std::unique_ptr<DeviceSource>> cuda_source(int device) {
  KW_TRY(cuda::Context context, cuda::Context::open(device));
  KW_TRY(cuda::Stream stream, cuda::Stream::make());
  return std::make_unique<CudaSource>(std::move(context), std::move(stream), device);
}

}  // namespace kw::gym
