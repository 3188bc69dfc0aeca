// A decoder layer's backward pass by hand against autograd's, in float64, over a forward pass
// written once more with plain operators and a mask.
#include "train/model/layer.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace kw::train {
namespace {

lm::ModelConfig config_with(bool biases, bool norms) {
  lm::ModelConfig c;
  c.hidden = 24;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate = 40;
  c.norm_epsilon = 1e-3;
  c.qkv_bias = c.output_bias = c.mlp_bias = biases;
  c.qk_norm = norms;
  return c;
}

at::Tensor random(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble).mul_(0.5);
}

Weight made(at::IntArrayRef sizes) {
  return {random(sizes), at::zeros(sizes, at::kDouble)};
}

using Named = std::vector<std::pair<std::string, Weight*>>;
Named named(LayerWeights& w) {
  return {{"input_norm", &w.input_norm},
          {"qkv", &w.qkv},
          {"qkv_bias", &w.qkv_bias},
          {"q_norm", &w.q_norm},
          {"k_norm", &w.k_norm},
          {"output", &w.output},
          {"output_bias", &w.output_bias},
          {"post_norm", &w.post_norm},
          {"gate_up", &w.gate_up},
          {"gate_up_bias", &w.gate_up_bias},
          {"down", &w.down},
          {"down_bias", &w.down_bias}};
}

LayerWeights make_weights(const lm::ModelConfig& c) {
  const std::int64_t qkv = (c.heads + 2 * c.kv_heads) * c.head_dim;
  LayerWeights w;
  w.input_norm = made({c.hidden});
  w.qkv = made({qkv, c.hidden});
  w.output = made({c.hidden, c.heads * c.head_dim});
  w.post_norm = made({c.hidden});
  w.gate_up = made({2 * c.intermediate, c.hidden});
  w.down = made({c.hidden, c.intermediate});
  if (c.qkv_bias) {
    w.qkv_bias = made({qkv});
    w.output_bias = made({c.hidden});
    w.gate_up_bias = made({2 * c.intermediate});
    w.down_bias = made({c.hidden});
  }
  if (c.qk_norm) {
    w.q_norm = made({c.head_dim});
    w.k_norm = made({c.head_dim});
  }
  return w;
}

at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  return x / (x * x).mean(-1, true).add(epsilon).sqrt() * scale;
}

at::Tensor with_bias(const at::Tensor& x, const Weight& bias) {
  return bias.value.defined() ? x + bias.value : x;
}

at::Tensor plain_rotate(const at::Tensor& x, const Rotation& r) {
  const std::int64_t half = x.size(2) / 2;
  const at::Tensor c = r.cosines.index_select(0, r.positions).unsqueeze(1);
  const at::Tensor s = r.sines.index_select(0, r.positions).unsqueeze(1);
  const at::Tensor a = x.narrow(2, 0, half), b = x.narrow(2, half, half);
  return at::cat({a * c - b * s, b * c + a * s}, 2);
}

at::Tensor plain_layer(const LayerContext& context, const LayerWeights& w, const at::Tensor& x) {
  const lm::ModelConfig& c = context.config;
  const at::Tensor qkv =
      with_bias(plain_norm(x, w.input_norm.value, c.norm_epsilon).matmul(w.qkv.value.t()),
                w.qkv_bias)
          .view({x.size(0), -1, c.head_dim});
  at::Tensor q = qkv.narrow(1, 0, c.heads), k = qkv.narrow(1, c.heads, c.kv_heads);
  const at::Tensor v = qkv.narrow(1, c.heads + c.kv_heads, c.kv_heads);
  if (w.q_norm.value.defined()) q = plain_norm(q, w.q_norm.value, c.norm_epsilon);
  if (w.k_norm.value.defined()) k = plain_norm(k, w.k_norm.value, c.norm_epsilon);
  q = plain_rotate(q, context.rotation).transpose(0, 1);
  k = plain_rotate(k, context.rotation).repeat_interleave(c.heads / c.kv_heads, 1).transpose(0, 1);
  const at::Tensor values = v.repeat_interleave(c.heads / c.kv_heads, 1).transpose(0, 1);
  const at::Tensor s = context.batch.sequences, p = context.batch.positions;
  const at::Tensor sees = (s.unsqueeze(1) == s.unsqueeze(0)) & (p.unsqueeze(1) >= p.unsqueeze(0));
  const at::Tensor scores = q.matmul(k.transpose(1, 2)) / std::sqrt(double(c.head_dim));
  const at::Tensor attended = scores.masked_fill(~sees, -INFINITY).softmax(-1).matmul(values);
  const at::Tensor flat = attended.transpose(0, 1).reshape({x.size(0), -1});
  const at::Tensor middle = with_bias(x + flat.matmul(w.output.value.t()), w.output_bias);
  const at::Tensor inner =
      with_bias(plain_norm(middle, w.post_norm.value, c.norm_epsilon).matmul(w.gate_up.value.t()),
                w.gate_up_bias);
  const at::Tensor gate = inner.narrow(1, 0, c.intermediate);
  const at::Tensor up = inner.narrow(1, c.intermediate, c.intermediate);
  return with_bias(middle + (gate * gate.sigmoid() * up).matmul(w.down.value.t()), w.down_bias);
}

double relative_gap(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / want.norm()).item<double>();
}

void check(const lm::ModelConfig& config, bool again) {
  at::manual_seed(11);
  std::vector<std::int32_t> tokens(23);
  const Batch batch = make_batch(tokens, tokens, std::vector<std::int64_t>{9, 1, 13}, at::kCPU);
  const at::Tensor angles = random({16, config.head_dim / 2});
  const LayerContext context{
      config, batch, {angles.cos(), angles.sin(), batch.positions}, at::kDouble};
  LayerWeights w = make_weights(config);
  const at::Tensor stream = random({23, config.hidden}), delta = random({23, config.hidden});
  const at::Tensor bias = random({config.hidden}), by_out = random({23, config.hidden});

  LayerWeights plain = w;
  for (auto& [name, one] : named(plain))
    if (one->value.defined()) one->value = one->value.clone().set_requires_grad(true);
  const at::Tensor x = (stream + delta + bias).set_requires_grad(true);
  const at::Tensor want = plain_layer(context, plain, x);
  torch::autograd::backward({want}, {by_out});

  const at::NoGradGuard no_grad;
  LayerTape tape;
  const Residual out = layer_forward(context, w, {stream, delta, bias}, &tape);
  at::Tensor got = out.stream + out.delta;
  if (out.bias.defined()) got = got + out.bias;
  EXPECT_LT(relative_gap(got, want.detach()), 1e-10);
  if (again) tape = layer_again(context, w, tape.input.sum);
  const StreamSlopes slopes = layer_backward(context, w, tape, {by_out.clone(), by_out.clone()});
  EXPECT_LT(relative_gap(slopes.wide, x.grad()), 1e-10);
  const Named mine = named(w), theirs = named(plain);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Weight& one = *mine[i].second;
    if (!one.value.defined()) continue;
    EXPECT_LT(relative_gap(one.gradient, theirs[i].second->value.grad()), 1e-10) << mine[i].first;
  }
}

TEST(Layer, DerivativesAreAutograds) {
  for (bool biases : {false, true})
    for (bool norms : {false, true})
      for (bool again : {false, true}) {
        SCOPED_TRACE(::testing::Message() << biases << norms << again);
        check(config_with(biases, norms), again);
      }
}

}  // namespace
}  // namespace kw::train
