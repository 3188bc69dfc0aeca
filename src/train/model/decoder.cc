#include "train/model/decoder.h"

#include <utility>

#include <ATen/ATen.h>

#include "base/check.h"
#include "lm/model/rope.h"

namespace kw::train {
namespace {

at::Tensor table(const std::vector<float>& values, std::int64_t half, at::Device device) {
  return at::tensor(values).view({-1, half}).to(device);
}

}  // namespace

Decoder::Decoder(const Weights& weights, const DecoderSettings& settings)
    : weights_(weights), settings_(settings) {
  const lm::RopeTable rope(weights.config(), settings.context);
  cosines_ = table(rope.cosine, rope.half, weights.device());
  sines_ = table(rope.sine, rope.half, weights.device());
  if (!settings.by_engine) return;
  auto made = cuda::EngineForward::make(weights, cosines_, sines_);
  TORCH_CHECK(made, made.error().message());
  engine_ = std::move(*made);
}

LayerContext Decoder::context_of(const Batch& batch) const {
  KW_CHECK(batch.longest <= settings_.context);
  return {weights_.config(), batch, {cosines_, sines_, batch.positions}, weights_.compute_dtype()};
}

Residual Decoder::embed(const Batch& batch) const {
  return {weights_.embedding.value.index_select(0, batch.tokens).to(at::kFloat), {}, {}};
}

Normed Decoder::last_norm(const Residual& in) const {
  return add_norm(in, weights_.final_norm.value, weights_.config().norm_epsilon,
                  weights_.compute_dtype());
}

at::Tensor Decoder::hidden(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const LayerContext context = context_of(batch);
  if (engine_ != nullptr) return engine_->hidden(batch, nullptr, 0);
  Residual x = embed(batch);
  for (const LayerWeights& w : weights_.layers) x = layer_forward(context, w, x, nullptr);
  return last_norm(x).normed;
}

Tape Decoder::forward(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const LayerContext context = context_of(batch);
  Tape tape;
  if (engine_ != nullptr) {
    tape.last.normed = engine_->hidden(batch, &tape, settings_.recompute_layers);
    return tape;
  }
  Residual x = embed(batch);
  for (const LayerWeights& w : weights_.layers) {
    LayerTape layer;
    x = layer_forward(context, w, x, &layer);
    if (std::ssize(tape.layers) < settings_.recompute_layers) {
      LayerTape kept;
      kept.input.sum = layer.input.sum;
      layer = std::move(kept);
    }
    tape.layers.push_back(std::move(layer));
  }
  tape.last = last_norm(x);
  return tape;
}

void Decoder::backward(const Batch& batch, Tape& tape, const at::Tensor& by_normed,
                       const std::function<void(std::size_t)>& layer_done) const {
  const at::NoGradGuard no_grad;
  const LayerContext context = context_of(batch);
  StreamSlopes slopes;
  {
    const Normed last = std::exchange(tape.last, {});
    NormSlopes by_last = add_norm_backward(last, weights_.final_norm, by_normed, {});
    slopes = {std::move(by_last.wide), std::move(by_last.narrow)};
  }
  while (!tape.layers.empty()) {
    LayerTape layer = std::move(tape.layers.back());
    tape.layers.pop_back();
    const LayerWeights& w = weights_.layers[tape.layers.size()];
    if (!layer.inner.defined()) layer = layer_again(context, w, std::move(layer.input.sum));
    slopes = layer_backward(context, w, layer, slopes);
    if (layer_done) layer_done(tape.layers.size());
  }
  at::Tensor gradient = gradient_sum(weights_.embedding);
  if (gradient.defined()) gradient.index_add_(0, batch.tokens, slopes.wide);
}

}  // namespace kw::train
