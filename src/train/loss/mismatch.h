// Correction for the difference between the trainer's and the sampler's distributions: weights of
// tokens, masks of sequences, and what is logged of the difference.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/loss/loss_inputs.h"
#include "train/loss/loss_settings.h"

namespace kw::train {

// rho = exp(l), l = trainer - sampler log-probability, held to +-20. Numbers are tensors without
// dimensions on the inputs' device, so that nothing waits for a GPU.
struct Mismatch {
  at::Tensor weights;        // [T], to multiply losses with; all 1 without a correction
  at::Tensor k1;             // sum of -l over weighted tokens
  at::Tensor k3;             // sum of exp(l) - l - 1: estimates KL(sampler || trainer)
  at::Tensor largest;        // max |l|
  at::Tensor masked_tokens;  // weighted tokens of sequences that a mask dropped
};

// trainer_logprobs: [T]; old's in decoupled mode, the current policy's in bypass mode.
Mismatch correct_mismatch(const at::Tensor& trainer_logprobs, const LossInputs& inputs,
                          const CorrectionSettings& settings);

}  // namespace kw::train
