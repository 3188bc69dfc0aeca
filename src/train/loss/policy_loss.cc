#include "train/loss/policy_loss.h"

#include <ATen/ATen.h>

#include "base/check.h"

namespace kw::train {
namespace {

constexpr double kMaxLogRatio = 20;

// A term of every token: its value and derivative by the log-probability, [T] each.
struct Term {
  at::Tensor value, slope;
  at::Tensor clipped;  // [T] bool; undefined: none
};

// PPO's clipped surrogate of a ratio whose derivative by the log-probability is the ratio itself.
Term clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages,
                       const LossSettings& settings) {
  const at::Tensor gain = advantages * ratio;
  const at::Tensor bounded =
      advantages * ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high);
  Term out;
  out.value = at::maximum(-gain, -bounded);
  const at::Tensor negative = advantages < 0;
  out.clipped = (advantages > 0)
                    .logical_and(ratio > 1 + settings.clip_high)
                    .logical_or(negative.logical_and(ratio < 1 - settings.clip_low));
  if (settings.dual_clip) {
    const at::Tensor limit = -*settings.dual_clip * advantages;
    out.clipped = out.clipped.logical_or(negative.logical_and(ratio > *settings.dual_clip));
    out.value = at::where(negative, at::minimum(out.value, limit), out.value);
  }
  out.slope = at::where(out.clipped, at::zeros({}, gain.options()), -gain);
  return out;
}

// log r, held to +-20, and 0 where a token has no weight.
at::Tensor log_ratio(const at::Tensor& logprobs, const LossInputs& inputs,
                     const LossSettings& settings) {
  const at::Tensor& old = settings.correction.mode == CorrectionMode::kBypass
                              ? inputs.sampler_logprobs
                              : inputs.old_logprobs;
  KW_CHECK(old.defined());
  return where_weighted(logprobs - old, inputs);
}

Term policy_term(const at::Tensor& logprobs, const LossInputs& inputs,
                 const LossSettings& settings) {
  if (settings.loss == PolicyLoss::kSft) return {-logprobs, -at::ones_like(logprobs), {}};
  const at::Tensor advantages = where_weighted(inputs.advantages, inputs);
  if (settings.loss == PolicyLoss::kReinforce) return {-advantages * logprobs, -advantages, {}};

  const at::Tensor exact = log_ratio(logprobs, inputs, settings);
  const at::Tensor held = exact.clamp(-kMaxLogRatio, kMaxLogRatio);
  if (settings.loss == PolicyLoss::kCispo) {
    const at::Tensor weight = held.exp().clamp_max(1 + settings.clip_high);
    return {-weight * advantages * logprobs, -weight * advantages, {}};
  }
  if (settings.loss == PolicyLoss::kGspo)
    return clipped_surrogate(mean_of_sequence(held, inputs).exp(), advantages, settings);
  Term out = clipped_surrogate(held.exp(), advantages, settings);
  out.slope = at::where(exact == held, out.slope, at::zeros({}, out.slope.options()));
  return out;
}

Term kl_term(const at::Tensor& logprobs, const LossInputs& inputs, KlForm form) {
  const at::Tensor d = where_weighted(logprobs - inputs.reference_logprobs, inputs);
  switch (form) {
    case KlForm::kNone:
      break;
    case KlForm::kK1:
      return {d, at::ones_like(d), {}};
    case KlForm::kK2:
      return {d.square() / 2, d, {}};
    case KlForm::kK3:
      return {(-d).exp() + d - 1, 1 - (-d).exp(), {}};
  }
  const at::Tensor zero = at::zeros_like(logprobs);
  return {zero, zero, {}};
}

}  // namespace

at::Tensor token_shares(const LossInputs& inputs, const LossSettings& settings,
                        const LossDivisors& divisors) {
  switch (settings.aggregation) {
    case Aggregation::kTokenMean:
      return inputs.weights / divisors.tokens;
    case Aggregation::kConstant:
      return inputs.weights / (divisors.sequences * settings.constant_length);
    case Aggregation::kSequenceMean: {
      const at::Tensor lengths =
          sum_by_sequence(inputs.weights, inputs).index_select(0, inputs.sequences);
      return at::where(inputs.weights > 0, inputs.weights / (lengths * divisors.sequences),
                       at::zeros({}, inputs.weights.options()));
    }
  }
  return {};  // not reached: every enumerator returns
}

bool needs_whole_sequences(const LossSettings& settings) {
  const CorrectionSettings& c = settings.correction;
  const bool masks =
      c.geometric_low || c.max_absolute || c.veto || c.importance == ImportanceLevel::kSequence;
  return settings.loss == PolicyLoss::kGspo || (c.mode != CorrectionMode::kNone && masks);
}

LossResult policy_loss(const at::Tensor& given, const LossInputs& inputs, const at::Tensor& shares,
                       const LossSettings& settings) {
  const at::NoGradGuard no_grad;
  const at::Tensor logprobs = where_weighted(given, inputs);
  const Term policy = policy_term(logprobs, inputs, settings);
  const bool decoupled = settings.correction.mode == CorrectionMode::kDecoupled;
  LossResult out;
  out.mismatch =
      correct_mismatch(decoupled ? inputs.old_logprobs : logprobs, inputs, settings.correction);
  const at::Tensor corrected = shares * out.mismatch.weights;
  at::Tensor loss = corrected * policy.value;
  out.gradient = corrected * policy.slope;
  out.kl = at::zeros({}, logprobs.options());
  if (settings.kl != KlForm::kNone) {
    const Term kl = kl_term(logprobs, inputs, settings.kl);
    loss = loss + settings.kl_coefficient * shares * kl.value;
    out.gradient = out.gradient + settings.kl_coefficient * shares * kl.slope;
    out.kl = kl.value.sum();
  }
  out.loss = loss.sum();
  if (settings.entropy_coefficient != 0)
    out.entropy_gradient = -settings.entropy_coefficient * shares;
  out.clipped = policy.clipped.defined()
                    ? policy.clipped.logical_and(inputs.weights > 0).to(logprobs.dtype()).sum()
                    : at::zeros({}, logprobs.options());
  return out;
}

}  // namespace kw::train
