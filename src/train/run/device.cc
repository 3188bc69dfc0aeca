#include "train/run/device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "train/cuda/fused.h"

namespace kw::train {

Result<at::Device> device_of(const std::string& name) {
  if (name == "cpu" || (name == "auto" && !at::hasCUDA())) return at::Device(at::kCPU);
  if (!at::hasCUDA())
    return fail(ErrorCode::kUnsupported, "device: the torch of this program has no CUDA device");
  return at::Device(at::kCUDA, 0);
}

at::ScalarType dtype_of(const std::string& name, at::Device device) {
  if (name == "auto") return device.is_cuda() ? at::kBFloat16 : at::kFloat;
  return name == "bfloat16" ? at::kBFloat16 : at::kFloat;
}

// Samples of many lengths leave holes in memory that is split into blocks of fixed sizes.
Status prepare_device(at::Device device, const lm::ModelConfig& config) {
  if (!device.is_cuda()) return {};
  static std::once_flag once;  // before the first allocation
  std::call_once(once, [] {
    if (std::getenv("PYTORCH_ALLOC_CONF") == nullptr &&
        std::getenv("PYTORCH_CUDA_ALLOC_CONF") == nullptr)
      c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
  });
  return cuda::check_support(config.hidden, config.head_dim, config.intermediate);
}

void wait_for(at::Device device) {
  // A number comes behind all else of the stream.
  if (device.is_cuda()) at::zeros({}, at::TensorOptions(device)).item<float>();
}

std::uint64_t peak_bytes(at::Device device) {
  if (!device.is_cuda()) return 0;
  const auto stats = at::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return static_cast<std::uint64_t>(stats.allocated_bytes[0].peak);  // of all pools together
}

void set_threads(std::int64_t threads, std::int64_t processes) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency()) / processes;
  at::set_num_threads(static_cast<int>(threads > 0 ? threads : std::max<std::int64_t>(cores, 1)));
}

double measured_rate(at::Device device, at::ScalarType dtype, std::int64_t width) {
  const at::Tensor x = at::ones({1024, width}, at::TensorOptions(dtype).device(device));
  const at::Tensor w = at::ones({width, width}, x.options());
  auto run = [&](int times) {
    at::Tensor y;
    for (int i = 0; i < times; ++i) y = at::mm(x, w);
    return y[0][0].item<float>();  // waits
  };
  run(3);
  const auto begin = std::chrono::steady_clock::now();
  run(20);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return 20 * 2.0 * 1024 * static_cast<double>(width * width) / took.count();
}

}  // namespace kw::train
