#include "train/model/matmul.h"

#include <ATen/ATen.h>

namespace kw::train {
namespace {

// Bfloat16 operands whose result is float32: one cuBLAS call on a GPU. On a CPU the operands become
// float32, in which products of two bfloat16 numbers are exact.
bool is_narrow(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16;
}

}  // namespace

at::Tensor matmul_transposed(const at::Tensor& x, const at::Tensor& w, bool narrow) {
  if (narrow || !is_narrow(x)) return at::mm(x, w.t());
  if (x.is_cuda()) return at::mm(x, w.t(), at::kFloat);
  return at::mm(x.to(at::kFloat), w.to(at::kFloat).t());
}

void add_outer_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = sum;
  if (!is_narrow(a))
    out.addmm_(a.t(), b);
  else if (a.is_cuda())
    at::addmm_out(out, sum, a.t(), b, at::kFloat);
  else
    out.addmm_(a.to(at::kFloat).t(), b.to(at::kFloat));
}

}  // namespace kw::train
