#include "train/optimizer/adamw.h"

#include <ATen/ATen.h>

#include "base/check.h"
#include "train/cuda/fused.h"

namespace kw::train {

AdamW::AdamW(Weights& weights, const AdamWSettings& settings)
    : weights_(weights),
      settings_(settings),
      first_(at::zeros_like(weights.masters())),
      second_(at::zeros_like(weights.masters())) {
  if (weights.device().is_cuda()) {
    mark_decays();
  } else {
    group_tensors();
  }
}

void AdamW::group_tensors() {
  groups_.resize(2);
  groups_[0].weight_decay = settings_.weight_decay;
  for (const Weights::Entry& entry : weights_.entries()) {
    Group& group = groups_[entry.is_matrix ? 0 : 1];
    auto view = [&](const at::Tensor& block) {
      return block.as_strided(entry.master.sizes(), entry.master.strides(),
                              entry.master.storage_offset());
    };
    group.masters.push_back(entry.master);
    group.gradients.push_back(entry.gradient);
    group.first.push_back(view(first_));
    group.second.push_back(view(second_));
    group.counts.push_back(at::zeros({}, weights_.masters().options()));
  }
}

// Tensors begin at multiples of 16 numbers (lm::Parameters).
void AdamW::mark_decays() {
  std::vector<std::int32_t> words(static_cast<std::size_t>(weights_.masters().numel() / 512 + 1));
  for (const Weights::Entry& entry : weights_.entries()) {
    const std::int64_t begin = entry.master.storage_offset();
    KW_CHECK(begin % 16 == 0);
    if (!entry.is_matrix) continue;
    for (std::int64_t i = begin; i < begin + entry.master.numel(); i += 16) {
      std::int32_t& word = words[static_cast<std::size_t>(i / 512)];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (1U << (i / 16 % 32)));
    }
  }
  decays_ = at::tensor(words).to(weights_.device());
}

void AdamW::set_steps(std::int64_t steps) {
  steps_ = steps;
  for (Group& group : groups_)
    for (at::Tensor& count : group.counts) count.fill_(static_cast<double>(steps));
}

at::Tensor AdamW::fused_step(double learning_rate) {
  const at::Tensor norm = cuda::gradient_norm(weights_.gradients(), settings_.max_norm);
  cuda::adamw({settings_.beta1, settings_.beta2, settings_.epsilon, settings_.weight_decay,
               learning_rate, steps_},
              weights_.masters(), weights_.rounded_masters(), weights_.gradients(), first_, second_,
              decays_, norm);
  weights_.add_adapter();
  return norm[0];
}

at::Tensor AdamW::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  ++steps_;
  if (weights_.device().is_cuda()) return fused_step(learning_rate);
  at::Tensor gradients = weights_.gradients();
  // Millions of squares: sums in float32 are off by a ten-thousandth.
  const at::Tensor norm =
      at::linalg_vector_norm(gradients, 2, {}, false, at::kDouble).to(at::kFloat);
  if (settings_.max_norm > 0) gradients.mul_((settings_.max_norm / (norm + 1e-6)).clamp_max(1));
  for (Group& group : groups_) {
    if (group.masters.empty()) continue;
    at::_foreach_add_(group.counts, 1);
    at::_fused_adamw_(group.masters, group.gradients, group.first, group.second, {}, group.counts,
                      learning_rate, settings_.beta1, settings_.beta2, group.weight_decay,
                      settings_.epsilon, false, false);
  }
  weights_.publish();
  return norm;
}

}  // namespace kw::train
