#include "train/loss/mismatch.h"

#include <cmath>

#include <ATen/ATen.h>

namespace kw::train {
namespace {

constexpr double kMaxGap = 20;

// [T] bool: the token's sequence passes every mask.
at::Tensor kept_tokens(const at::Tensor& log_ratio, const LossInputs& inputs,
                       const CorrectionSettings& settings) {
  at::Tensor kept = at::ones_like(log_ratio, log_ratio.options().dtype(at::kBool));
  if (settings.geometric_low) {
    const at::Tensor mean = mean_of_sequence(log_ratio, inputs);
    kept = kept.logical_and(mean >= std::log(*settings.geometric_low))
               .logical_and(mean <= std::log(*settings.geometric_high));
  }
  if (settings.max_absolute)
    kept = kept.logical_and(mean_of_sequence(log_ratio.abs(), inputs) <= *settings.max_absolute);
  if (settings.veto) {
    const at::Tensor vetoed = (log_ratio < std::log(*settings.veto)).to(log_ratio.dtype());
    kept = kept.logical_and(mean_of_sequence(vetoed, inputs) == 0);
  }
  return kept;
}

at::Tensor importance_weights(const at::Tensor& log_ratio, const LossInputs& inputs,
                              const CorrectionSettings& settings) {
  switch (settings.importance) {
    case ImportanceLevel::kNone:
      return at::ones_like(log_ratio);
    case ImportanceLevel::kToken:
      return log_ratio.exp().clamp_max(settings.importance_cap);
    case ImportanceLevel::kSequence:
      return sum_by_sequence(log_ratio, inputs)
          .clamp(-kMaxGap, kMaxGap)
          .exp()
          .clamp_max(settings.importance_cap)
          .index_select(0, inputs.sequences);
  }
  return {};
}

}  // namespace

Mismatch correct_mismatch(const at::Tensor& trainer_logprobs, const LossInputs& inputs,
                          const CorrectionSettings& settings) {
  if (settings.mode == CorrectionMode::kNone) {
    const at::Tensor zero = at::zeros({}, trainer_logprobs.options());
    return {at::ones_like(trainer_logprobs), zero, zero, zero, zero};
  }
  const at::Tensor log_ratio =
      where_weighted((trainer_logprobs - inputs.sampler_logprobs).clamp(-kMaxGap, kMaxGap), inputs);
  const at::Tensor kept = kept_tokens(log_ratio, inputs, settings);
  Mismatch out;
  out.weights = importance_weights(log_ratio, inputs, settings) * kept.to(log_ratio.dtype());
  out.k1 = -log_ratio.sum();
  out.k3 = (log_ratio.expm1() - log_ratio).sum();
  out.largest = log_ratio.abs().max();
  out.masked_tokens =
      (inputs.weights > 0).logical_and(kept.logical_not()).to(log_ratio.dtype()).sum();
  return out;
}

}  // namespace kw::train
