#include "train/run/sft_step.h"

#include <array>

#include <ATen/ATen.h>

#include "train/model/distill_head.h"
#include "train/optimizer/bucket_sums.h"

namespace kw::train {
namespace {

at::Tensor weights_of(const PackedSamples& packed, at::Device device) {
  return on_device(at::tensor(packed.weights), device);
}

Batch batch_of(const PackedSamples& packed, at::Device device) {
  return make_batch(packed.tokens, packed.targets, packed.lengths, device);
}

DistillInput distill_input(const SftParts& parts, const Batch& batch, const at::Tensor& hidden) {
  return {hidden, parts.weights.head.value, parts.teacher->decoder.hidden(batch),
          parts.teacher->weights.head.value, batch.targets};
}

// StepSums over the micro-batches of a step, on its device: a GPU is waited for once.
struct StepSums {
  at::Tensor cross_entropy, divergence;
};

// Adds to the head's gradient and to the sums; returns the loss by the head's input. shares: of the
// tokens in the mean, [T].
at::Tensor head_backward(const SftParts& parts, const Batch& batch, const at::Tensor& hidden,
                         const at::Tensor& shares, StepSums& sums) {
  const at::Tensor slopes = -shares;
  if (parts.teacher == nullptr) {
    HeadGradients head =
        head_loss_gradients(hidden, parts.weights.head, batch.targets, slopes, parts.head);
    sums.cross_entropy.add_((head.forward.logprobs * slopes).sum());
    return head.hidden;
  }
  DistillGradients head = distill_gradients(distill_input(parts, batch, hidden), shares,
                                            gradient_sum(parts.weights.head), parts.teacher->loss,
                                            parts.head.chunk_tokens);
  sums.cross_entropy.add_((head.forward.logprobs * slopes).sum());
  sums.divergence.add_((head.forward.divergences * shares).sum());
  return head.hidden;
}

// Float64: the gradient's norm, which all ranks have, and the sums of all; where there are several,
// their tokens and micro-batches too.
at::Tensor numbers_of(const SftParts& parts, const StepSums& sums, const StepResult& mine,
                      const at::Tensor& norm) {
  at::Tensor all = at::stack({sums.cross_entropy, sums.divergence}).to(at::kDouble);
  if (parts.ranks != nullptr) {
    const at::Tensor counts = at::tensor(
        {static_cast<double>(mine.tokens), static_cast<double>(mine.micro_batches)}, at::kDouble);
    all = at::cat({all, on_device(counts, all.device())});
    parts.ranks->all_reduce(all);
  }
  return at::cat({norm.reshape({1}).to(at::kDouble), all});
}

}  // namespace

LaunchedStep launch_sft_step(SftParts parts, const DrawnStep& step, double learning_rate) {
  StepResult known;
  known.weight = step.weight;
  const at::Device device = parts.weights.device();
  parts.weights.clear_gradients();
  const auto options = at::TensorOptions(at::kFloat).device(device);
  StepSums sums{at::zeros({}, options), at::zeros({}, options)};
  BucketSums over_ranks(parts.weights, parts.ranks);
  for (const PackedSamples& packed : step.micro_batches) {
    const Batch batch = batch_of(packed, device);
    const at::Tensor shares = weights_of(packed, device).div_(known.weight);
    Tape tape = parts.decoder.forward(batch);
    const at::Tensor by_hidden = head_backward(parts, batch, tape.last.normed, shares, sums);
    over_ranks.head_done();
    parts.decoder.backward(batch, tape, by_hidden,
                           [&](std::size_t layer) { over_ranks.layer_done(layer); });
    over_ranks.rest_done();
    known.tokens += static_cast<std::int64_t>(packed.tokens.size());
    ++known.micro_batches;
  }
  for (std::size_t i = step.micro_batches.size(); i < step.rounds; ++i) over_ranks.none();
  const at::Tensor norm = parts.optimizer.step(learning_rate);
  return {known, parts.teacher, cuda::DeferredNumbers(numbers_of(parts, sums, known, norm))};
}

StepResult LaunchedStep::wait() {
  const std::vector<double> all = numbers_.wait();
  StepResult out = known_;
  out.gradient_norm = all[0];
  out.loss = all[1];
  if (all.size() > 3) {
    out.tokens = static_cast<std::int64_t>(all[3]);
    out.micro_batches = static_cast<std::int64_t>(all[4]);
  }
  if (teacher_ == nullptr) return out;
  const DistillLoss& loss = teacher_->loss;
  out.divergence = all[2];
  out.cross_entropy = out.loss;
  out.loss = (1 - loss.cross_entropy) * loss.temperature * loss.temperature * *out.divergence +
             loss.cross_entropy * *out.cross_entropy;
  return out;
}

HeldOutLoss held_out_loss(SftParts parts, std::span<const Sample> samples, double weight) {
  HeldOutLoss out;
  const at::Device device = parts.weights.device();
  double weighted = 0, divergence = 0;
  for (const PackedSamples& packed : pack(samples, parts.micro_tokens)) {
    const Batch batch = batch_of(packed, device);
    const at::Tensor hidden = parts.decoder.hidden(batch);
    const at::Tensor weights = weights_of(packed, device).to(at::kDouble);
    at::Tensor logprobs;
    if (parts.teacher == nullptr) {
      logprobs =
          head_logprobs(hidden, parts.weights.head.value, batch.targets, parts.head).logprobs;
    } else {
      const DistillRows rows = distill_rows(distill_input(parts, batch, hidden),
                                            parts.teacher->loss, parts.head.chunk_tokens);
      logprobs = rows.logprobs;
      divergence += (rows.divergences * weights).sum().item<double>();
    }
    logprobs = logprobs.to(at::kDouble);
    weighted -= (logprobs * weights).sum().item<double>();
    out.nats -= (logprobs * (weights > 0)).sum().item<double>();
  }
  if (parts.ranks != nullptr) {
    const std::vector<double> sums =
        sum_over_ranks(*parts.ranks, device, std::array{weighted, out.nats, divergence});
    weighted = sums[0];
    out.nats = sums[1];
    divergence = sums[2];
  }
  out.nats_per_token = weighted / weight;
  if (parts.teacher != nullptr) out.divergence = divergence / weight;
  return out;
}

}  // namespace kw::train
