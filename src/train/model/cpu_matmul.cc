#include "train/model/cpu_matmul.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "lm/cpu/kernels.h"

namespace kw::train {
namespace {

using Multiply = void (*)(const lm::cpu::Matmul<std::uint16_t, std::uint16_t>&);

constexpr std::int64_t kColumns = 64;  // of the result that a thread takes at least

Multiply kernel() {
  static const lm::cpu::Kernels* const found = lm::cpu::kernels_named("avx512");
  return found == nullptr ? nullptr : found->matmul_bf16;
}

const std::uint16_t* bits_of(const at::Tensor& x) {
  return reinterpret_cast<const std::uint16_t*>(x.const_data_ptr<at::BFloat16>());
}

}  // namespace

bool multiply_on_cpu(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w, bool adds) {
  const Multiply multiply = kernel();
  if (multiply == nullptr) return false;
  TORCH_CHECK(out.scalar_type() == at::kFloat && out.stride(1) == 1);
  const at::Tensor rows = x.contiguous(), columns = w.contiguous();
  lm::cpu::Matmul<std::uint16_t, std::uint16_t> all{.x = bits_of(rows),
                                                    .rows = rows.size(0),
                                                    .k = rows.size(1),
                                                    .w = bits_of(columns),
                                                    .y = out.mutable_data_ptr<float>(),
                                                    .y_stride = out.stride(0),
                                                    .adds = adds};
  const std::int64_t n = columns.size(0);
  at::parallel_for(0, (n + kColumns - 1) / kColumns, 1, [&](std::int64_t begin, std::int64_t end) {
    auto part = all;
    part.first = begin * kColumns;
    part.last = std::min(end * kColumns, n);
    multiply(part);
  });
  return true;
}

}  // namespace kw::train
