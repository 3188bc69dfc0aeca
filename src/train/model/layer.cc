#include "train/model/layer.h"

#include <utility>

#include <ATen/ATen.h>

namespace kw::train {
namespace {

HeadsShape shape_of(const lm::ModelConfig& c) {
  return {c.heads, c.kv_heads, c.head_dim, c.norm_epsilon};
}

HeadsWeights heads_of(const LayerWeights& w) {
  return {w.qkv_bias, w.q_norm, w.k_norm};
}

// [T, D] wide, before its bias: what the attention adds to the stream.
at::Tensor attend(const LayerContext& context, const LayerWeights& w, const at::Tensor& normed,
                  LayerTape* tape) {
  const HeadsShape shape = shape_of(context.config);
  const at::Tensor qkv = linear(normed, w.qkv);
  const at::Tensor heads = heads_forward(shape, heads_of(w), context.rotation, qkv, context.narrow);
  if (tape != nullptr && w.q_norm.value.defined()) tape->qkv = qkv;
  const at::Tensor out =
      attention(heads, shape, context.batch, tape != nullptr ? &tape->attention : nullptr);
  return linear(out.reshape({-1, shape.heads * shape.head_dim}), w.output);
}

// [T, 2 F] narrow, before its bias: gate and up.
at::Tensor inner_of(const LayerContext& context, const LayerWeights& w, const Residual& in,
                    LayerTape* tape, at::Tensor* middle_sum) {
  const double epsilon = context.config.norm_epsilon;
  Normed input = add_norm(in, w.input_norm.value, epsilon, context.narrow);
  const at::Tensor delta = attend(context, w, std::exchange(input.normed, {}), tape);
  Normed middle =
      add_norm({input.sum, delta, w.output_bias.value}, w.post_norm.value, epsilon, context.narrow);
  at::Tensor inner = linear(std::exchange(middle.normed, {}), w.gate_up, true);
  if (middle_sum != nullptr) *middle_sum = middle.sum;
  if (tape != nullptr) {
    tape->input = std::move(input);
    tape->middle = std::move(middle);
    tape->inner = inner;
  }
  return inner;
}

}  // namespace

Residual layer_forward(const LayerContext& context, const LayerWeights& w, const Residual& in,
                       LayerTape* tape) {
  Residual out;
  const at::Tensor inner = inner_of(context, w, in, tape, &out.stream);
  out.delta = linear(silu_multiply(inner, w.gate_up_bias.value), w.down);
  out.bias = w.down_bias.value;
  return out;
}

LayerTape layer_again(const LayerContext& context, const LayerWeights& w,
                      const at::Tensor& stream) {
  LayerTape tape;
  inner_of(context, w, {stream, {}, {}}, &tape, nullptr);
  return tape;
}

StreamSlopes layer_backward(const LayerContext& context, const LayerWeights& w, LayerTape& tape,
                            const StreamSlopes& by_out) {
  const HeadsShape shape = shape_of(context.config);
  const std::int64_t width = shape.heads * shape.head_dim;
  add_bias_gradient(by_out.wide, w.down_bias);
  SiluSlopes silu = silu_multiply_backward(std::exchange(tape.inner, {}), w.gate_up_bias.value,
                                           linear_backward_input(by_out.narrow, w.down));
  linear_backward_weight(by_out.narrow, std::exchange(silu.out, {}), w.down);
  add_bias_gradient(silu.inner, w.gate_up_bias);
  NormSlopes middle = add_norm_backward(std::exchange(tape.middle, {}), w.post_norm,
                                        linear_backward_input(silu.inner, w.gate_up), by_out.wide);
  linear_backward_weight(std::exchange(silu.inner, {}), std::exchange(middle.normed, {}),
                         w.gate_up);

  add_bias_gradient(middle.wide, w.output_bias);
  const at::Tensor attended = tape.attention.out.detach().reshape({-1, width});
  linear_backward_weight(middle.narrow, attended, w.output);
  const at::Tensor by_attended = linear_backward_input(middle.narrow, w.output);
  const HeadSlopesByPart by_heads = attention_backward(
      tape.attention, by_attended.view({-1, shape.heads, shape.head_dim}), shape, context.batch);
  const at::Tensor by_qkv =
      heads_backward(shape, heads_of(w), context.rotation, std::exchange(tape.qkv, {}), by_heads);
  NormSlopes input = add_norm_backward(std::exchange(tape.input, {}), w.input_norm,
                                       linear_backward_input(by_qkv, w.qkv), middle.wide);
  linear_backward_weight(by_qkv, input.normed, w.qkv);
  return {input.wide, input.narrow};
}

}  // namespace kw::train
