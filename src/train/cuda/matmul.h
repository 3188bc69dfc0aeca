// Matmuls of bfloat16 through cuBLASLt, with sums in float32. Of the ways that cuBLASLt names for a
// shape the fastest counts, among those that give the same bits as the first one: so what a run
// computes does not depend on what was measured. Every 61st row of one product is compared.
#pragma once
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kw::train::cuda {

// A matrix, or the transpose of what lies in memory.
struct Operand {
  const at::Tensor& matrix;
  bool transposed = false;
};

// y [T, N] = x w^T, or y += x w^T where it adds, for x [T, K] and w [N, K]; y is float32 or
// bfloat16. Ways are chosen at the first call for a shape, which waits for the GPU; numbers of
// tokens (T; K where x is transposed) share them where they differ by less than a quarter. On
// torch's stream; one thread at a time. Returns false, and does nothing, where these operands are
// not for cuBLASLt.
bool multiply(const Operand& x, const Operand& w, const at::Tensor& y, bool adds = false);

// A line for each shape that was multiplied: which way was taken, and the times.
std::vector<std::string> matmul_choices();

}  // namespace kw::train::cuda
