#include "gym/cuda/testing/emulated_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "gym/cuda/testing/emulation.h"

// This file gives C++ the parts of CUDA's language and library that it lacks.
// NOLINTBEGIN: CUDA's own names.
#define KW_EMULATED
#define KW_KERNEL static
#define __device__
#define __shared__ static
#define threadIdx ::kw::gym::testing::emulated_thread
#define blockIdx ::kw::gym::testing::emulated_block
#define blockDim ::kw::gym::testing::emulated_block_size
#define gridDim ::kw::gym::testing::emulated_grid_size
// NOLINTEND

namespace kw::gym::testing {
namespace {
namespace cuda_text {

// NOLINTBEGIN: CUDA's own names.
void __syncthreads() {
  emulated_wait();
}
void __syncwarp() {
  emulated_wait();
}
float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}

double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
void atomicAdd(unsigned long long* to, unsigned long long value) {
  *to += value;
}
void atomicMax(unsigned long long* to, unsigned long long value) {
  *to = std::max(*to, value);
}
// NOLINTEND

float kw_pools[2 * 8 * 1024];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "gym/cuda/kernels/tasks.cu"
//
#include "gym/cuda/kernels/random.cu"
//
#include "gym/cuda/kernels/elements.cu"
//
#include "gym/cuda/kernels/draw.cu"
//
#include "gym/cuda/kernels/ranges.cu"
//
#include "gym/cuda/kernels/compare.cu"
#pragma GCC diagnostic pop

}  // namespace cuda_text

template <typename Task>
std::function<void(const void*)> of(void (*kernel)(Task)) {
  return [kernel](const void* task) { kernel(*static_cast<const Task*>(task)); };
}

class EmulatedKernels final : public KernelRunner {
 public:
  Status run(std::string_view kernel, const KernelShape& shape, const void* task) override {
    const auto found = kernels_.find(kernel);
    if (found == kernels_.end()) return fail(ErrorCode::kInternal, "no kernel {}", kernel);
    emulate(shape.blocks, shape.threads, [&] { found->second(task); });
    return {};
  }

 private:
  const std::map<std::string_view, std::function<void(const void*)>> kernels_ = {
      {"kw_draw_stream", of(cuda_text::kw_draw_stream)},
      {"kw_draw_mixed", of(cuda_text::kw_draw_mixed)},
      {"kw_poison", of(cuda_text::kw_poison)},
      {"kw_write_canaries", of(cuda_text::kw_write_canaries)},
      {"kw_check_canaries", of(cuda_text::kw_check_canaries)},
      {"kw_hash", of(cuda_text::kw_hash)},
      {"kw_row_parts", of(cuda_text::kw_row_parts)},
      {"kw_row_scales", of(cuda_text::kw_row_scales)},
      {"kw_compare", of(cuda_text::kw_compare)},
      {"kw_rules", of(cuda_text::kw_rules)}};
};

}  // namespace

KernelRunner& emulated_kernels() {
  static EmulatedKernels kernels;
  return kernels;
}

}  // namespace kw::gym::testing
