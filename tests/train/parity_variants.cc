#include "parity_variants.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include "train/model/attention.h"
#include "train/model/matmul.h"
#include "train/model/operators.h"

namespace kw::train {
namespace {

struct Rows {
  at::Tensor x;       // what a product takes
  at::Tensor factor;  // [T, 1] of its result; undefined: 1
};

at::Tensor inverse_root(const at::Tensor& x, double epsilon) {
  return x.square().mean(-1, true).add_(epsilon).rsqrt_();
}

Rows norm(const at::Tensor& stream, const Weight& scale, double epsilon, bool after) {
  const at::Tensor inverse = inverse_root(stream, epsilon);
  if (after) return {(stream * scale.value).to(at::kBFloat16), inverse};
  return {(stream * inverse * scale.value).to(at::kBFloat16), {}};
}

at::Tensor product(const Rows& rows, const Weight& w) {
  const at::Tensor y = matmul_transposed(rows.x, w.value);
  return rows.factor.defined() ? y * rows.factor : y;
}

at::Tensor plus(const at::Tensor& x, const Weight& bias) {
  return bias.value.defined() ? x + bias.value : x;
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) {
  const std::vector<at::Tensor> halves = x.chunk(2, 2);
  return at::cat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines},
                 2);
}

// [T, H d] float32: keys and values are rounded, all else is float32.
at::Tensor attend_wide(const at::Tensor& qkv, const HeadsShape& shape, const HeadsWeights& weights,
                       const at::Tensor& cosines, const at::Tensor& sines, const Batch& batch) {
  std::vector<at::Tensor> parts =
      plus(qkv, weights.bias)
          .view({-1, shape.heads + 2 * shape.kv_heads, shape.head_dim})
          .split_with_sizes({shape.heads, shape.kv_heads, shape.kv_heads}, 1);
  const at::Tensor c = cosines.index_select(0, batch.positions).unsqueeze(1);
  const at::Tensor s = sines.index_select(0, batch.positions).unsqueeze(1);
  const Weight* const norms[] = {&weights.q_norm, &weights.k_norm};
  for (std::size_t i = 0; i < 2; ++i) {
    if (norms[i]->value.defined())
      parts[i] = parts[i] * inverse_root(parts[i], shape.epsilon) * norms[i]->value;
    parts[i] = rotated(parts[i], c, s);
  }
  for (std::size_t i = 1; i < 3; ++i)
    parts[i] = parts[i]
                   .to(at::kBFloat16)
                   .to(at::kFloat)
                   .repeat_interleave(shape.heads / shape.kv_heads, 1);
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  std::vector<at::Tensor> out;
  for (std::size_t n = 0; n + 1 < batch.bounds.size(); ++n) {
    const std::int64_t first = batch.bounds[n], count = batch.bounds[n + 1] - first;
    auto own = [&](std::size_t i) { return parts[i].narrow(0, first, count).transpose(0, 1); };
    const at::Tensor later = at::ones({count, count}, qkv.options().dtype(at::kBool)).triu(1);
    const at::Tensor scores = at::bmm(own(0) * scale, own(1).transpose(1, 2))
                                  .masked_fill_(later, -std::numeric_limits<double>::infinity());
    out.push_back(at::bmm(at::softmax(scores, -1), own(2)).transpose(0, 1).reshape({count, -1}));
  }
  return at::cat(out);
}

}  // namespace

at::Tensor hidden_with(const Weights& weights, const at::Tensor& cosines, const at::Tensor& sines,
                       const Batch& batch, const Roundings& roundings) {
  const lm::ModelConfig& c = weights.config();
  const HeadsShape shape{c.heads, c.kv_heads, c.head_dim, c.norm_epsilon};
  at::Tensor stream = weights.embedding.value.index_select(0, batch.tokens).to(at::kFloat);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& w = weights.layers[i];
    const at::Tensor qkv =
        product(norm(stream, w.input_norm, c.norm_epsilon, roundings.factor_after && i > 0), w.qkv);
    const HeadsWeights heads{w.qkv_bias, w.q_norm, w.k_norm};
    at::Tensor attended;
    if (roundings.wide_attention)
      attended = attend_wide(qkv, shape, heads, cosines, sines, batch).to(at::kBFloat16);
    else
      attended = attention(heads_forward(shape, heads, {cosines, sines, batch.positions}, qkv,
                                         at::kBFloat16),
                           shape, batch, nullptr)
                     .reshape({-1, c.heads * c.head_dim});
    stream = plus(stream + matmul_transposed(attended, w.output.value), w.output_bias);
    at::Tensor inner =
        product(norm(stream, w.post_norm, c.norm_epsilon, roundings.factor_after), w.gate_up);
    if (!roundings.wide_inner) inner = inner.to(at::kBFloat16).to(at::kFloat);
    const std::vector<at::Tensor> halves = plus(inner, w.gate_up_bias).chunk(2, 1);
    const at::Tensor activated = at::silu(halves[0]).mul_(halves[1]).to(at::kBFloat16);
    stream = plus(stream + matmul_transposed(activated, w.down.value), w.down_bias);
  }
  return norm(stream, weights.final_norm, c.norm_epsilon, false).x;
}

}  // namespace kw::train
