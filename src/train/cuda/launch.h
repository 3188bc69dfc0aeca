// The operators of this folder launch their kernels with these functions. Errors fly as c10::Error.
#pragma once
#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "base/result.h"
#include "cuda/stream.h"
#include "train/cuda/kernels.h"

namespace kw::train::cuda {

using kw::cuda::LaunchShape;

inline const Kernels& kernels() {
  static const Kernels& all = [&]() -> const Kernels& {
    const Result<const Kernels*> loaded = load_kernels();
    TORCH_CHECK(loaded, loaded.error().message());
    return **loaded;
  }();
  return all;
}

template <typename T>
T checked(Result<T> result) {
  TORCH_CHECK(result, result.error().message());
  return std::move(*result);
}

inline void checked(const Status& status) {
  TORCH_CHECK(status, status.error().message());
}

// 0 for an undefined tensor: the kernels' null.
inline DevicePointer address(const at::Tensor& x) {
  if (!x.defined()) return 0;
  TORCH_CHECK(x.is_contiguous() && x.is_cuda(), "a kernel's tensor is not contiguous on the GPU");
  return reinterpret_cast<DevicePointer>(x.const_data_ptr());
}

template <typename... Args>
void launch(const Function& function, const LaunchShape& shape, const Args&... args) {
  static const kw::cuda::Stream default_stream;
  checked(function.launch(default_stream, shape, args...));
}
template <typename... Args>
void launch(const Function& function, std::int64_t blocks, unsigned threads, const Args&... args) {
  if (blocks == 0) return;
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(blocks);
  shape.threads = threads;
  launch(function, shape, args...);
}

}  // namespace kw::train::cuda
