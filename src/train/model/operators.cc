#include "train/model/operators.h"

#include <utility>

#include <ATen/ATen.h>

#include "train/cuda/fused.h"
#include "train/model/matmul.h"

namespace kw::train {
namespace {

at::ScalarType wide_of(at::ScalarType narrow) {
  return narrow == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor inverse_root(const at::Tensor& x, double epsilon) {
  return x.square().mean(-1, true).add_(epsilon).rsqrt_();
}

// With y = x i, i the inverse root, and g = dn scale: dx = i (g - y mean(g y)). Adds the
// derivative by scale, sum(dn y), to its gradient.
at::Tensor norm_backward(const at::Tensor& y, const at::Tensor& inverse, const Weight& scale,
                         const at::Tensor& by_normed) {
  const at::Tensor product = by_normed * y;
  at::Tensor(scale.gradient).add_(product.reshape({-1, y.size(-1)}).sum(0));
  const at::Tensor mean = (product * scale.value).mean(-1, true);
  return (by_normed * scale.value).sub_(y * mean).mul_(inverse);
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) {
  const std::vector<at::Tensor> halves = x.chunk(2, 2);
  const at::Tensor c = cosines.unsqueeze(1), s = sines.unsqueeze(1);
  return at::cat({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, 2);
}

// q, k and v of [T, A d], as [T, heads, d] each.
std::vector<at::Tensor> parts_of(const HeadsShape& shape, const at::Tensor& qkv,
                                 const at::Tensor& bias) {
  const at::Tensor all = bias.defined() ? qkv + bias : qkv;
  return all.view({-1, shape.heads + 2 * shape.kv_heads, shape.head_dim})
      .split_with_sizes({shape.heads, shape.kv_heads, shape.kv_heads}, 1);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const Weight& weight, bool narrow) {
  return matmul_transposed(x, weight.value, narrow);
}

void linear_backward_weight(const at::Tensor& slopes, const at::Tensor& x, const Weight& weight) {
  if (weight.is_blank != nullptr && std::exchange(*weight.is_blank, false))
    write_outer_product(weight.gradient, slopes, x);
  else if (weight.gradient.defined())
    add_outer_product(weight.gradient, slopes, x);
  // y = x (W + s B A)^T: by B, s slopes^T (x A^T); by A, s (slopes B)^T x.
  for (const LowRank& one : weight.adapters) {
    const at::Tensor rows = slopes.narrow(1, one.first_row, one.rows);
    const at::Tensor down = at::mm(x, one.a.t()).mul_(one.scale);
    add_outer_product(one.b_gradient, rows, down);
    const at::Tensor up = at::mm(rows, one.b).mul_(one.scale);
    add_outer_product(one.a_gradient, up, x);
  }
}

at::Tensor linear_backward_input(const at::Tensor& slopes, const Weight& weight) {
  return matmul_narrow(slopes, weight.value);
}

void add_bias_gradient(const at::Tensor& slopes, const Weight& bias) {
  if (!bias.value.defined()) return;
  at::Tensor(bias.gradient).add_(at::sum(slopes, {0}, false, bias.gradient.scalar_type()));
}

Normed add_norm(const Residual& in, const at::Tensor& scale, double epsilon,
                at::ScalarType narrow) {
  if (in.stream.is_cuda()) return cuda::add_norm(in, scale, epsilon);
  Normed out;
  out.sum = in.delta.defined() ? in.stream + in.delta : in.stream;
  if (in.bias.defined()) out.sum = out.sum + in.bias;
  const at::Tensor inverse = inverse_root(out.sum, epsilon);
  out.inverse = inverse.squeeze(-1);
  out.normed = (out.sum * inverse).mul_(scale).to(narrow);
  return out;
}

NormSlopes add_norm_backward(const Normed& saved, const Weight& scale, const at::Tensor& by_normed,
                             const at::Tensor& by_sum) {
  if (saved.sum.is_cuda()) return cuda::add_norm_backward(saved, scale, by_normed, by_sum);
  const at::ScalarType narrow = by_normed.scalar_type();
  const at::Tensor inverse = saved.inverse.unsqueeze(-1), y = saved.sum * inverse;
  NormSlopes out;
  out.wide = norm_backward(y, inverse, scale, by_normed.to(wide_of(narrow)));
  if (by_sum.defined()) out.wide.add_(by_sum);
  out.narrow = out.wide.to(narrow);
  out.normed = (y * scale.value).to(narrow);
  return out;
}

at::Tensor heads_forward(const HeadsShape& shape, const HeadsWeights& weights,
                         const Rotation& rotation, const at::Tensor& qkv, at::ScalarType narrow) {
  if (qkv.is_cuda()) return cuda::heads_forward(shape, weights, rotation, qkv);
  std::vector<at::Tensor> parts = parts_of(shape, qkv, weights.bias.value);
  const at::Tensor c = rotation.cosines.index_select(0, rotation.positions);
  const at::Tensor s = rotation.sines.index_select(0, rotation.positions);
  const Weight* const norms[] = {&weights.q_norm, &weights.k_norm};
  for (std::size_t i = 0; i < 2; ++i) {
    at::Tensor& x = parts[i];
    if (norms[i]->value.defined()) x = (x * inverse_root(x, shape.epsilon)).mul_(norms[i]->value);
    x = rotated(x, c, s);
  }
  return at::cat(parts, 1).to(narrow);
}

at::Tensor heads_backward(const HeadsShape& shape, const HeadsWeights& weights,
                          const Rotation& rotation, const at::Tensor& qkv,
                          const HeadSlopesByPart& by_heads) {
  if (by_heads.q.is_cuda()) return cuda::heads_backward(shape, weights, rotation, qkv, by_heads);
  const at::ScalarType narrow = by_heads.q.scalar_type(), wide = wide_of(narrow);
  const at::Tensor c = rotation.cosines.index_select(0, rotation.positions);
  const at::Tensor s = rotation.sines.index_select(0, rotation.positions).neg();
  std::vector<at::Tensor> slopes = {by_heads.q.to(wide), by_heads.k.to(wide), by_heads.v.to(wide)};
  const Weight* const norms[] = {&weights.q_norm, &weights.k_norm};
  for (std::size_t i = 0; i < 2; ++i) {
    slopes[i] = rotated(slopes[i], c, s);  // the inverse of a rotation turns the other way
    if (!norms[i]->value.defined()) continue;
    const at::Tensor x = parts_of(shape, qkv, weights.bias.value)[i];
    const at::Tensor inverse = inverse_root(x, shape.epsilon);
    slopes[i] = norm_backward(x * inverse, inverse, *norms[i], slopes[i]);
  }
  const at::Tensor by_qkv = at::cat(slopes, 1).view({rotation.positions.size(0), -1});
  add_bias_gradient(by_qkv, weights.bias);
  return by_qkv.to(narrow);
}

at::Tensor silu_multiply(const at::Tensor& inner, const at::Tensor& bias) {
  if (inner.is_cuda()) return cuda::silu_multiply(inner, bias);
  const at::ScalarType narrow = inner.scalar_type();
  at::Tensor x = inner.to(wide_of(narrow));
  if (bias.defined()) x = x + bias;
  const std::vector<at::Tensor> halves = x.chunk(2, 1);
  return at::silu(halves[0]).mul_(halves[1]).to(narrow);
}

SiluSlopes silu_multiply_backward(const at::Tensor& inner, const at::Tensor& bias,
                                  const at::Tensor& by_out) {
  if (inner.is_cuda()) return cuda::silu_multiply_backward(inner, bias, by_out);
  const at::ScalarType narrow = inner.scalar_type();
  at::Tensor x = inner.to(wide_of(narrow));
  if (bias.defined()) x = x + bias;
  const std::vector<at::Tensor> halves = x.chunk(2, 1);
  const at::Tensor slopes = by_out.to(x.scalar_type()), silu = at::silu(halves[0]);
  at::Tensor by_inner = at::empty_like(x);
  const std::vector<at::Tensor> parts = by_inner.chunk(2, 1);
  at::Tensor(parts[0]).copy_(at::silu_backward(slopes * halves[1], halves[0]));
  at::Tensor(parts[1]).copy_(silu * slopes);
  return {by_inner.to(narrow), (silu * halves[1]).to(narrow)};
}

}  // namespace kw::train
