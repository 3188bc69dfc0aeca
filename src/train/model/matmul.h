// Matrix products as the engine rounds them: operands of the weights' dtype, sums and results in
// float32 (float64 for float64 operands) unless said otherwise.
#pragma once
#include <ATen/core/Tensor.h>

namespace kw::train {

// x [T, K], w [N, K] of one dtype -> x w^T [T, N] in float32 or, where narrow, in their dtype.
at::Tensor matmul_transposed(const at::Tensor& x, const at::Tensor& w, bool narrow = false);
// The same into memory that is there, of whichever of these dtypes it has.
void matmul_transposed_into(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w);
// x [T, N], w [N, K] of one dtype -> x w [T, K] in that dtype.
at::Tensor matmul_narrow(const at::Tensor& x, const at::Tensor& w);
void matmul_into(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w);
// sum [N, K] float32 += a^T b for a [T, N], b [T, K] of one dtype.
void add_outer_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b);

// The same into memory that holds nothing.
void write_outer_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

}  // namespace kw::train
