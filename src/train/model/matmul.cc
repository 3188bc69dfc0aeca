#include "train/model/matmul.h"

#include <ATen/ATen.h>

#include "train/cuda/matmul.h"
#include "train/model/cpu_matmul.h"

namespace kw::train {
namespace {

// Bfloat16 operands whose result is float32: one call of cuBLASLt on a GPU, and of the engine's
// kernel on a CPU. A CPU without instructions for it takes operands that became float32, in which
// products of two bfloat16 numbers are exact.
bool is_narrow(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16;
}

at::Tensor rows_for(const at::Tensor& x, std::int64_t width, at::ScalarType dtype) {
  return at::empty({x.size(0), width}, x.options().dtype(dtype));
}

}  // namespace

at::Tensor matmul_transposed(const at::Tensor& x, const at::Tensor& w, bool narrow) {
  at::Tensor out = rows_for(x, w.size(0), is_narrow(x) && !narrow ? at::kFloat : x.scalar_type());
  matmul_transposed_into(out, x, w);
  return out;
}

void matmul_transposed_into(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w) {
  if (x.is_cuda() && cuda::multiply({x}, {w}, out)) return;
  at::Tensor result = out;
  if (out.scalar_type() == x.scalar_type())
    at::mm_out(result, x, w.t());
  else if (x.is_cuda())
    at::mm_out(result, x, w.t(), out.scalar_type());
  else if (!multiply_on_cpu(out, x, w))
    at::mm_out(result, x.to(at::kFloat), w.to(at::kFloat).t());
}

at::Tensor matmul_narrow(const at::Tensor& x, const at::Tensor& w) {
  at::Tensor out = rows_for(x, w.size(1), x.scalar_type());
  matmul_into(out, x, w);
  return out;
}

void matmul_into(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w) {
  if (x.is_cuda() && cuda::multiply({x}, {w, true}, out)) return;
  at::Tensor result = out;
  at::mm_out(result, x, w);
}

void add_outer_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (a.is_cuda() && cuda::multiply({a, true}, {b, true}, sum, true)) return;
  at::Tensor out = sum;
  if (!is_narrow(a))
    out.addmm_(a.t(), b);
  else if (a.is_cuda())
    at::addmm_out(out, sum, a.t(), b, at::kFloat);
  else if (!multiply_on_cpu(sum, a.t(), b.t(), true))
    out.addmm_(a.to(at::kFloat).t(), b.to(at::kFloat));
}

void write_outer_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (a.is_cuda() && cuda::multiply({a, true}, {b, true}, out)) return;
  at::Tensor result = out;
  if (!is_narrow(a))
    at::mm_out(result, a.t(), b);
  else if (a.is_cuda())
    at::mm_out(result, a.t(), b, at::kFloat);
  else if (!multiply_on_cpu(out, a.t(), b.t()))
    at::mm_out(result, a.to(at::kFloat).t(), b.to(at::kFloat));
}

}  // namespace kw::train
