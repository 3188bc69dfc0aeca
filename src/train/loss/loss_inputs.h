// LossInputs: what a loss knows of the T tokens of a micro-batch, and sums over their sequences.
#pragma once
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace kw::train {

// Tensors of T tokens on one device, floating ones of one dtype. Sequences are whole: no sequence
// continues in another micro-batch. Values at tokens of weight 0 are never used, NaN included.
struct LossInputs {
  at::Tensor weights;    // [T] 0: no loss here
  at::Tensor sequences;  // [T] i64, in [0, sequence_count)
  std::int64_t sequence_count = 0;
  at::Tensor advantages;          // [T]; undefined for sft
  at::Tensor old_logprobs;        // [T]; undefined for sft, reinforce and in bypass mode
  at::Tensor sampler_logprobs;    // [T]; undefined without a correction
  at::Tensor reference_logprobs;  // [T]; undefined without KL
};

// Tokens [begin, begin + count) alone; sequence_count stays.
LossInputs narrow(const LossInputs& inputs, std::int64_t begin, std::int64_t count);
// [T] -> [sequence_count]: the sum over each sequence's tokens.
at::Tensor sum_by_sequence(const at::Tensor& values, const LossInputs& inputs);
// [T] -> [T]: the mean over the tokens of positive weight of each token's sequence.
at::Tensor mean_of_sequence(const at::Tensor& values, const LossInputs& inputs);
// values where the token has a weight, else 0.
at::Tensor where_weighted(const at::Tensor& values, const LossInputs& inputs);

}  // namespace kw::train
