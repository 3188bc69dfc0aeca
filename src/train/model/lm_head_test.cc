// The head over what truncated sampling has left, against autograd in float64.
#include "train/model/lm_head.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "lm/sampling/sampling.h"

namespace kw::train {
namespace {

constexpr double kTemperature = 0.7;

at::Tensor autograds_logprobs(const at::Tensor& hidden, const at::Tensor& weight,
                              const at::Tensor& targets, const at::Tensor& allowed) {
  const at::Tensor logits = hidden.matmul(weight.t()) / kTemperature;
  const at::Tensor left = logits.masked_fill(allowed.logical_not(), -INFINITY);
  return at::log_softmax(left, 1).gather(1, targets.unsqueeze(1)).squeeze(1);
}

TEST(LmHead, ATruncatedDistributionIsNormedAgain) {
  constexpr std::int64_t kPlaces = 23, kInner = 12, kWords = 50, kKept = 6;
  at::manual_seed(4);
  const auto options = at::TensorOptions(at::kDouble);
  const at::Tensor hidden = at::randn({kPlaces, kInner}, options).requires_grad_(true);
  const at::Tensor weight = at::randn({kWords, kInner}, options).requires_grad_(true);
  const at::Tensor targets = at::randint(kWords, {kPlaces}, at::kLong);
  // The likeliest of each row, and the target wherever it stands; all of the first row.
  const at::Tensor logprobs =
      at::log_softmax(hidden.detach().matmul(weight.detach().t()) / kTemperature, 1);
  const at::Tensor cutoffs =
      std::get<0>(logprobs.topk(kKept, 1)).select(1, kKept - 1).contiguous().to(at::kFloat);
  cutoffs.narrow(0, 0, 1).fill_(lm::kNoCutoff);
  const at::Tensor allowed =
      (logprobs >= cutoffs.unsqueeze(1) - 1e-4).scatter(1, targets.unsqueeze(1), true);
  EXPECT_EQ(allowed[0].sum().item<std::int64_t>(), kWords);
  EXPECT_GE(allowed[1].sum().item<std::int64_t>(), kKept);
  EXPECT_LE(allowed[1].sum().item<std::int64_t>(), kKept + 1);

  const at::Tensor want = autograds_logprobs(hidden, weight, targets, allowed);
  const at::Tensor slopes = at::randn({kPlaces}, options);
  const auto gradients = torch::autograd::grad({(want * slopes).sum()}, {hidden, weight});
  const HeadSettings settings{.chunk_tokens = 9, .temperature = kTemperature, .entropy = true};
  const at::Tensor by_weight = at::zeros({kWords, kInner}, options);
  const HeadGradients got =
      head_gradients(hidden.detach(), weight.detach(), targets, by_weight,
                     [&](std::int64_t begin, const at::Tensor& some) -> HeadSlopes {
                       return {slopes.narrow(0, begin, some.size(0)), {}};
                     },
                     settings, {.cutoffs = cutoffs});
  auto relative = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>();
  };
  EXPECT_LT(relative(got.forward.logprobs, want.detach()), 1e-12);
  EXPECT_LT(relative(got.hidden, gradients[0]), 1e-12);
  EXPECT_LT(relative(by_weight, gradients[1]), 1e-12);
  EXPECT_LT(relative(got.forward.entropies, -(logprobs * logprobs.exp()).sum(1)), 1e-12);
  const HeadLogprobs alone =
      head_logprobs(hidden.detach(), weight.detach(), targets, settings, {.cutoffs = cutoffs});
  EXPECT_LT(relative(alone.logprobs, want.detach()), 1e-12);
}

}  // namespace
}  // namespace kw::train
