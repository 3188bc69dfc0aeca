#include "gym/cuda/device_bytes.h"

#include <map>
#include <optional>
#include <utility>

#include "cuda/module.h"
#include "cuda/shared_memory.h"
#include "cuda/stream.h"

namespace kw::gym {
namespace {

// The checker's stream, and whether anything on it has not been waited for.
class WorkQueue {
 public:
  WorkQueue(cuda::Stream stream, BusyTime* busy) : stream_(std::move(stream)), busy_(busy) {}

  // For something to be put on it.
  const cuda::Stream& stream() {
    if (!outstanding_) outstanding_.emplace(busy_);
    return stream_;
  }
  Status wait() {
    if (!outstanding_) return {};
    Status done = stream_.synchronize();
    outstanding_.reset();
    return done;
  }

 private:
  cuda::Stream stream_;
  BusyTime* busy_;
  std::optional<BusyScope> outstanding_;
};

class CudaBytes final : public DeviceBytes {
 public:
  CudaBytes(cuda::SharedMemory memory, os::UniqueFd descriptor, WorkQueue& queue, std::size_t bytes)
      : memory_(std::move(memory)),
        descriptor_(std::move(descriptor)),
        queue_(queue),
        bytes_(bytes) {}
  ~CudaBytes() override { (void)settle(); }
  CudaBytes(const CudaBytes&) = delete;
  CudaBytes& operator=(const CudaBytes&) = delete;

  std::size_t size() const override { return bytes_; }
  std::uint64_t address() const override { return memory_.address(); }
  int descriptor() const override { return descriptor_.get(); }
  Status upload(std::size_t offset, std::span<const std::byte> from) override {
    // The driver has taken ordinary memory's bytes when this returns.
    return from.empty()
               ? Status()
               : queue_.stream().copy(memory_.address() + offset, from.data(), from.size());
  }
  Status download(std::size_t offset, std::span<std::byte> to) const override {
    if (to.empty()) return {};
    KW_TRY_STATUS(queue_.stream().copy(to.data(), memory_.address() + offset, to.size()));
    return queue_.wait();
  }
  Status copy(std::size_t offset, const DeviceBytes& from, std::size_t from_offset,
              std::size_t bytes) override {
    return bytes == 0 ? Status()
                      : queue_.stream().copy(memory_.address() + offset,
                                             from.address() + from_offset, bytes);
  }
  Status zero() override {
    // The tail of the last granule too: nothing passes from one executor to the next.
    return queue_.stream().fill(memory_.address(), 0, memory_.bytes());
  }
  Status zero(std::size_t offset, std::size_t bytes) override {
    return queue_.stream().fill(memory_.address() + offset, 0, bytes);
  }
  Status settle() const override { return queue_.wait(); }

 private:
  cuda::SharedMemory memory_;
  os::UniqueFd descriptor_;
  WorkQueue& queue_;
  std::size_t bytes_;
};

class CudaKernels final : public KernelRunner {
 public:
  CudaKernels(cuda::Module module, WorkQueue& queue) : module_(std::move(module)), queue_(queue) {}

  Status run(std::string_view kernel, const KernelShape& shape, const void* task) override {
    KW_TRY(cuda::Function function, function_of(std::string(kernel), shape.shared_bytes));
    cuda::LaunchShape launch;
    launch.grid[0] = shape.blocks;
    launch.threads = shape.threads;
    launch.shared_bytes = shape.shared_bytes;
    void* pointers[] = {const_cast<void*>(task)};
    return function.launch_pointers(queue_.stream(), launch, pointers);
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
  WorkQueue& queue_;
  std::map<std::string, cuda::Function> functions_;
};

class CudaSource final : public DeviceSource {
 public:
  CudaSource(cuda::Context context, cuda::Stream stream, int device, BusyTime* busy)
      : context_(std::move(context)), queue_(std::move(stream), busy), device_(device) {}

  Status load(const std::string& kernels) {
    KW_TRY(cuda::Module module, cuda::Module::load(kernels));
    kernels_.emplace(std::move(module), queue_);
    return {};
  }
  KernelRunner* kernels() override { return kernels_ ? &*kernels_ : nullptr; }

  Result<std::unique_ptr<DeviceBytes>> make(std::size_t bytes) override {
    KW_TRY(cuda::SharedMemory memory, cuda::SharedMemory::make(device_, bytes));
    KW_TRY(os::UniqueFd descriptor, memory.export_descriptor());
    auto out = std::make_unique<CudaBytes>(std::move(memory), std::move(descriptor), queue_, bytes);
    KW_TRY_STATUS(out->zero());
    KW_TRY_STATUS(out->settle());
    return out;
  }

 private:
  cuda::Context context_;  // outlives the stream
  WorkQueue queue_;
  int device_;
  std::optional<CudaKernels> kernels_;
};

}  // namespace

Result<std::unique_ptr<DeviceSource>> cuda_source(int device, const std::string& kernels,
                                                  BusyTime* busy) {
  KW_TRY(cuda::Context context, cuda::Context::open(device));
  KW_TRY(cuda::Stream stream, cuda::Stream::make());
  auto source = std::make_unique<CudaSource>(std::move(context), std::move(stream), device, busy);
  if (!kernels.empty()) KW_TRY_STATUS(source->load(kernels));
  return source;
}

}  // namespace kw::gym
