#include "train/loss/loss_inputs.h"

#include <ATen/ATen.h>

namespace kw::train {

LossInputs narrow(const LossInputs& inputs, std::int64_t begin, std::int64_t count) {
  auto part = [&](const at::Tensor& whole) {
    return whole.defined() ? whole.narrow(0, begin, count) : whole;
  };
  return {part(inputs.weights),           part(inputs.sequences),    inputs.sequence_count,
          part(inputs.advantages),        part(inputs.old_logprobs), part(inputs.sampler_logprobs),
          part(inputs.reference_logprobs)};
}

at::Tensor where_weighted(const at::Tensor& values, const LossInputs& inputs) {
  return at::where(inputs.weights > 0, values, at::zeros({}, values.options()));
}

at::Tensor sum_by_sequence(const at::Tensor& values, const LossInputs& inputs) {
  return at::zeros({inputs.sequence_count}, values.options())
      .index_add(0, inputs.sequences, values);
}

at::Tensor mean_of_sequence(const at::Tensor& values, const LossInputs& inputs) {
  const at::Tensor sums = sum_by_sequence(where_weighted(values, inputs), inputs);
  const at::Tensor counts = sum_by_sequence((inputs.weights > 0).to(values.dtype()), inputs);
  return (sums / counts.clamp_min(1)).index_select(0, inputs.sequences);
}

}  // namespace kw::train
