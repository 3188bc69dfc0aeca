#include "train/run/sft_step.h"

#include <ATen/ATen.h>

namespace kw::train {
namespace {

at::Tensor weights_of(const PackedSamples& packed, at::Device device) {
  return on_device(at::tensor(packed.weights), device);
}

Batch batch_of(const PackedSamples& packed, at::Device device) {
  return make_batch(packed.tokens, packed.targets, packed.lengths, device);
}

}  // namespace

StepResult sft_step(SftParts parts, const DrawnStep& step, double learning_rate) {
  StepResult out;
  out.weight = step.weight;
  const at::Device device = parts.weights.device();
  parts.weights.clear_gradients();
  at::Tensor loss = at::zeros({}, at::TensorOptions(at::kFloat).device(device));
  for (const PackedSamples& packed : step.micro_batches) {
    const Batch batch = batch_of(packed, device);
    const at::Tensor slopes = weights_of(packed, device).div_(-out.weight);
    Tape tape = parts.decoder.forward(batch);
    const HeadGradients head = head_gradients(
        tape.last.normed, parts.weights.head.value, batch.targets, parts.weights.head.gradient,
        [&](std::int64_t begin, const at::Tensor& logprobs) -> HeadSlopes {
          return {slopes.narrow(0, begin, logprobs.size(0)), {}};
        },
        parts.head);
    loss.add_((head.forward.logprobs * slopes).sum());
    parts.decoder.backward(batch, tape, head.hidden);
    out.tokens += static_cast<std::int64_t>(packed.tokens.size());
    ++out.micro_batches;
  }
  const at::Tensor norm = parts.optimizer.step(learning_rate);
  out.loss = loss.item<double>();  // the step's one wait for a GPU
  out.gradient_norm = norm.item<double>();
  return out;
}

HeldOutLoss held_out_loss(SftParts parts, std::span<const Sample> samples) {
  HeldOutLoss out;
  const at::Device device = parts.weights.device();
  double weighted = 0;
  for (const PackedSamples& packed : pack(samples, parts.micro_tokens)) {
    const Batch batch = batch_of(packed, device);
    const at::Tensor logprobs = head_logprobs(parts.decoder.hidden(batch), parts.weights.head.value,
                                              batch.targets, parts.head)
                                    .logprobs.to(at::kDouble);
    const at::Tensor weights = weights_of(packed, device).to(at::kDouble);
    weighted -= (logprobs * weights).sum().item<double>();
    out.nats -= (logprobs * (weights > 0)).sum().item<double>();
  }
  out.nats_per_token = weighted / weight_of(samples);
  return out;
}

}  // namespace kw::train
