// The per-token loss core: the loss of a micro-batch and its derivative by each token's
// log-probability, both in closed form. The LM head (train/model/lm_head.h) turns the derivative
// into gradients, so that no autograd graph over [tokens, vocabulary] exists.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/loss/loss_inputs.h"
#include "train/loss/loss_settings.h"
#include "train/loss/mismatch.h"

namespace kw::train {

// Totals of the whole optimizer step, over all micro-batches and ranks.
struct LossDivisors {
  double tokens = 1;     // sum of the weights
  double sequences = 1;  // sequences with a token of positive weight
};

struct LossResult {
  at::Tensor loss;      // without dimensions; losses of micro-batches add up to the step's
  at::Tensor gradient;  // [T], the loss by logprobs
  // [T], the loss by the token's entropy (-entropy_coefficient times its share); undefined where
  // the coefficient is 0. The loss leaves this term out.
  at::Tensor entropy_gradient;
  at::Tensor clipped;  // weighted tokens without a policy gradient because of a clip
  at::Tensor kl;       // sum of the KL estimate over weighted tokens; 0 without KL
  Mismatch mismatch;
};

// [T]: the factor of each token's loss: its weight over the divisor of the aggregation.
at::Tensor token_shares(const LossInputs& inputs, const LossSettings& settings,
                        const LossDivisors& divisors);

// logprobs: [T], float32 or float64, of the current policy. shares: of token_shares(). settings
// must pass check(). The tokens may be any part of a micro-batch, with inputs narrowed alike,
// unless needs_whole_sequences().
LossResult policy_loss(const at::Tensor& logprobs, const LossInputs& inputs,
                       const at::Tensor& shares, const LossSettings& settings);

// Whether a token's gradient depends on log-probabilities of other tokens of its sequence: then all
// of them are computed before the LM head's gradient pass.
bool needs_whole_sequences(const LossSettings& settings);

}  // namespace kw::train
