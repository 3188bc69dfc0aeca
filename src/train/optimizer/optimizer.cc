#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "train/cuda/fused.h"

namespace kw::train {
namespace {

// The block of `total` numbers without the matrices and the padding behind them.
std::vector<MasterSpan> spans_without(const std::vector<HiddenMatrices>& matrices,
                                      std::int64_t total) {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // begin, end
  for (const HiddenMatrices& some : matrices)
    for (std::int64_t i = 0; i < some.count; ++i) {
      const std::int64_t begin = some.first + i * some.stride;
      taken.emplace_back(begin, begin + some.rows * some.columns);
    }
  std::sort(taken.begin(), taken.end());
  taken.emplace_back(total, total);
  std::vector<MasterSpan> out;
  std::int64_t place = 0, second = 0;
  for (const auto& [begin, end] : taken) {
    if (begin > place) {
      out.push_back({place, begin - place, second});
      second += begin - place;
    }
    place = aligned(end);
  }
  return out;
}

}  // namespace

Optimizer::Optimizer(Weights& weights, const OptimizerSettings& settings)
    : weights_(weights), max_norm_(settings.max_norm), first_(at::zeros_like(weights.masters())) {
  if (settings.muon) muon_.emplace(weights, *settings.muon, first_);
  std::vector<MasterSpan> spans = spans_without(
      muon_ ? muon_->matrices() : std::vector<HiddenMatrices>(), weights.masters().numel());
  const std::int64_t count = spans.empty() ? 0 : spans.back().second + spans.back().count;
  second_ = at::zeros({count}, first_.options());
  adamw_.emplace(weights, settings.adamw, std::move(spans), first_, second_);
}

at::Tensor Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  ++steps_;
  at::Tensor gradients = weights_.gradients();
  if (weights_.device().is_cuda()) {
    const at::Tensor norm = cuda::gradient_norm(gradients, max_norm_);
    adamw_->update(learning_rate, steps_, norm);
    if (muon_) muon_->update(learning_rate, norm[1]);
    weights_.add_adapter();
    return norm[0];
  }
  // Millions of squares: sums in float32 are off by a ten-thousandth.
  const at::Tensor norm =
      at::linalg_vector_norm(gradients, 2, {}, false, at::kDouble).to(at::kFloat);
  if (max_norm_ > 0) gradients.mul_((max_norm_ / (norm + 1e-6)).clamp_max(1));
  adamw_->update(learning_rate, steps_, norm);
  if (muon_) muon_->update(learning_rate, {});
  weights_.publish();
  return norm;
}

}  // namespace kw::train
