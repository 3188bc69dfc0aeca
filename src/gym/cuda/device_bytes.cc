#include "gym/cuda/device_bytes.h"

#include <map>
#include <optional>
#include <utility>

#include "cuda/module.h"
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
  ~CudaBytes() override { (void)settle(); }
  CudaBytes(const CudaBytes&) = delete;
  CudaBytes& operator=(const CudaBytes&) = delete;

  std::size_t size() const override { return bytes_; }
  std::uint64_t address() const override { return memory_.address(); }
  int descriptor() const override { return descriptor_.get(); }
  Status upload(std::size_t offset, std::span<const std::byte> from) override {
    // The driver has taken ordinary memory's bytes when this returns.
    return from.empty() ? Status()
                        : stream_.copy(memory_.address() + offset, from.data(), from.size());
  }
  Status download(std::size_t offset, std::span<std::byte> to) const override {
    if (to.empty()) return {};
    KW_TRY_STATUS(stream_.copy(to.data(), memory_.address() + offset, to.size()));
    return stream_.synchronize();
  }
  Status copy(std::size_t offset, const DeviceBytes& from, std::size_t from_offset,
              std::size_t bytes) override {
    return bytes == 0
               ? Status()
               : stream_.copy(memory_.address() + offset, from.address() + from_offset, bytes);
  }
  Status zero() override {
    // The tail of the last granule too: nothing passes from one executor to the next.
    KW_TRY_STATUS(stream_.fill(memory_.address(), 0, memory_.bytes()));
    return settle();
  }
  Status settle() const override { return stream_.synchronize(); }

 private:
  cuda::SharedMemory memory_;
  os::UniqueFd descriptor_;
  const cuda::Stream& stream_;
  std::size_t bytes_;
};

class CudaKernels final : public KernelRunner {
 public:
  CudaKernels(cuda::Module module, const cuda::Stream& stream)
      : module_(std::move(module)), stream_(stream) {}

  Status run(std::string_view kernel, const KernelShape& shape, const void* task) override {
    KW_TRY(cuda::Function function, function_of(std::string(kernel), shape.shared_bytes));
    cuda::LaunchShape launch;
    launch.grid[0] = shape.blocks;
    launch.threads = shape.threads;
    launch.shared_bytes = shape.shared_bytes;
    void* pointers[] = {const_cast<void*>(task)};
    return function.launch_pointers(stream_, launch, pointers);
  }

 private:
  Result<cuda::Function> function_of(const std::string& kernel, std::size_t shared_bytes) {
    if (auto found = functions_.find(kernel); found != functions_.end()) return found->second;
    KW_TRY(cuda::Function function, module_.function(kernel));
    if (shared_bytes > 0) KW_TRY_STATUS(function.allow_shared_bytes(shared_bytes));
    functions_[kernel] = function;
    return function;
  }

  cuda::Module module_;
  const cuda::Stream& stream_;
  std::map<std::string, cuda::Function> functions_;
};

class CudaSource final : public DeviceSource {
 public:
  CudaSource(cuda::Context context, cuda::Stream stream, int device)
      : context_(std::move(context)), stream_(std::move(stream)), device_(device) {}

  Status load(const std::string& kernels) {
    KW_TRY(cuda::Module module, cuda::Module::load(kernels));
    kernels_.emplace(std::move(module), stream_);
    return {};
  }
  KernelRunner* kernels() override { return kernels_ ? &*kernels_ : nullptr; }

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
  std::optional<CudaKernels> kernels_;
};

}  // namespace

Result<std::unique_ptr<DeviceSource>> cuda_source(int device, const std::string& kernels) {
  KW_TRY(cuda::Context context, cuda::Context::open(device));
  KW_TRY(cuda::Stream stream, cuda::Stream::make());
  auto source = std::make_unique<CudaSource>(std::move(context), std::move(stream), device);
  if (!kernels.empty()) KW_TRY_STATUS(source->load(kernels));
  return source;
}

}  // namespace kw::gym
