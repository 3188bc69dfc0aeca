// Products of bfloat16 matrices on a CPU that has instructions for them (AVX512_BF16), by the
// engine's kernel (lm/cpu/kernels.h): sums in float32, and for each number of the result the same
// ones, in the same order, as where a sampler computes it.
#pragma once
#include <ATen/core/Tensor.h>

namespace kw::train {

// out = x w^T or, where `adds`, out += x w^T, on the threads of at::parallel_for. x [T, K] and
// w [N, K] bfloat16; out [T, N] float32, the numbers of a row side by side. False where this CPU
// has no such instructions: nothing is computed then.
bool multiply_on_cpu(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w,
                     bool adds = false);

}  // namespace kw::train
