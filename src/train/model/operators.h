// The operators of a decoder layer beside its products and attention, with their derivatives. On a
// GPU each is one kernel of our own (cuda/fused.h), on a CPU torch's operators.
//
// T tokens, D hidden, H heads and G of keys (or of values), A = H + 2 G, d head_dim, F inner.
// "Wide" is float32 (float64 with float64 weights): residual stream, norms, sums. "Narrow" is the
// dtype of the weights, which enters products. Weights' gradients are added to Weight::gradient.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/model/weights.h"

namespace kw::train {

// x [T, K] in the weight's dtype -> x w^T [T, N], wide or, where narrow, in the weight's dtype.
at::Tensor linear(const at::Tensor& x, const Weight& weight, bool narrow = false);
// slopes: by linear's result, narrow [T, N]. Adds to the weight's gradient.
void linear_backward_weight(const at::Tensor& slopes, const at::Tensor& x, const Weight& weight);
// -> by x, narrow [T, K].
at::Tensor linear_backward_input(const at::Tensor& slopes, const Weight& weight);
// Adds the sums over T to the bias's gradient, where there is a bias.
void add_bias_gradient(const at::Tensor& slopes, const Weight& bias);

// The residual stream as it enters a norm: what it was, and what is still to be added.
struct Residual {
  at::Tensor stream;  // [T, D] wide
  at::Tensor delta;   // [T, D] wide, or undefined
  at::Tensor bias;    // [D] wide, or undefined
};
struct Normed {
  at::Tensor sum;      // [T, D] wide: stream + delta + bias
  at::Tensor normed;   // [T, D] narrow: sum / sqrt(mean(sum^2) + epsilon) * scale
  at::Tensor inverse;  // [T] wide: 1 / sqrt(...)
};
Normed add_norm(const Residual& in, const at::Tensor& scale, double epsilon, at::ScalarType narrow);
struct NormSlopes {
  at::Tensor wide, narrow;  // by sum, [T, D]
  at::Tensor normed;        // the forward pass's, once more
};
// saved: sum and inverse. by_sum may be undefined (zeros); its memory may be used for the result.
NormSlopes add_norm_backward(const Normed& saved, const Weight& scale, const at::Tensor& by_normed,
                             const at::Tensor& by_sum);

struct HeadsShape {
  std::int64_t heads, kv_heads, head_dim;
  double epsilon;  // of norms
};
struct HeadsWeights {
  Weight bias, q_norm, k_norm;  // [A d], [d], [d]; undefined where the model has none
};
struct Rotation {
  at::Tensor cosines, sines;  // [positions, d/2] wide
  at::Tensor positions;       // [T] i64
};
// qkv [T, A d] wide: + bias, norms of the heads of q and k, rotation of pairs (i, i + d/2) of both
// -> [T, A, d] narrow: q, then k, then v.
at::Tensor heads_forward(const HeadsShape& shape, const HeadsWeights& weights,
                         const Rotation& rotation, const at::Tensor& qkv, at::ScalarType narrow);
struct HeadSlopesByPart {
  at::Tensor q, k, v;  // [T, H, d], [T, G, d], [T, G, d] narrow
  // On a GPU those of k and v may come in parts that are still to be summed, [parts, T, G, d].
};
// -> by qkv, [T, A d] narrow; adds to the gradients of bias and norms. qkv: as in the forward pass;
// needed where heads are normed.
at::Tensor heads_backward(const HeadsShape& shape, const HeadsWeights& weights,
                          const Rotation& rotation, const at::Tensor& qkv,
                          const HeadSlopesByPart& by_heads);

// inner [T, 2 F] narrow, gate then up; bias [2 F] or undefined -> silu(gate) * up [T, F] narrow.
at::Tensor silu_multiply(const at::Tensor& inner, const at::Tensor& bias);
struct SiluSlopes {
  at::Tensor inner;  // [T, 2 F]: by inner
  at::Tensor out;    // [T, F]: the forward pass's result, once more
};
// The memory of inner and by_out may be used for the results.
SiluSlopes silu_multiply_backward(const at::Tensor& inner, const at::Tensor& bias,
                                  const at::Tensor& by_out);

}  // namespace kw::train
