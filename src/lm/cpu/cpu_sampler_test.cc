// The likeliest tokens beside the one that is drawn.
#include "lm/cpu/cpu_sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::lm::cpu {
namespace {

std::vector<float> logits_of(std::size_t vocabulary, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(vocabulary);
  // Few different values, so that many are equal.
  for (float& logit : out) logit = static_cast<float>(rng.below(40)) * 0.25F;
  return out;
}

double own_logprob(const std::vector<float>& logits, std::size_t token) {
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit));
  return static_cast<double>(logits[token]) - std::log(sum);
}

TEST(CpuSampler, TopLogprobsAreTheLikeliestInOrder) {
  CpuSampler sampler(best_kernels());
  for (std::size_t vocabulary : {3UL, 20UL, 1000UL}) {
    const std::vector<float> logits = logits_of(vocabulary, vocabulary);
    std::vector<std::size_t> order(vocabulary);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    });
    SampleRequest request;
    request.settings.temperature = 0.5;
    request.settings.top_k = 2;
    request.top_logprobs = 7;
    request.seed = 3;
    std::vector<float> copy = logits;
    const Sample sample = sampler.draw(copy, request);
    ASSERT_EQ(sample.top.size(), std::min<std::size_t>(7, vocabulary));
    for (std::size_t i = 0; i < sample.top.size(); ++i) {
      EXPECT_EQ(sample.top[i].token, static_cast<std::int32_t>(order[i]));
      EXPECT_NEAR(sample.top[i].logprob, own_logprob(logits, order[i]), 1e-5);
    }
    request.top_logprobs = 0;
    copy = logits;
    const Sample without = sampler.draw(copy, request);
    EXPECT_TRUE(without.top.empty());
    EXPECT_EQ(without.token, sample.token);
    EXPECT_EQ(without.logprob, sample.logprob);
  }
}

TEST(CpuSampler, TheCutoffIsThatOfTheLeastThatMayBeDrawn) {
  CpuSampler sampler(best_kernels());
  const std::vector<float> logits = logits_of(500, 4);
  std::vector<double> scaled(logits.begin(), logits.end());
  for (double& one : scaled) one /= 0.7;
  double sum = 0;
  for (const double one : scaled) sum += std::exp(one);
  std::vector<double> logprobs;
  for (const double one : scaled) logprobs.push_back(one - std::log(sum));
  std::sort(logprobs.begin(), logprobs.end(), std::greater<>());
  SampleRequest request;
  request.settings.temperature = 0.7;
  auto cutoff = [&] {
    std::vector<float> copy = logits;
    return sampler.draw(copy, request).cutoff;
  };
  EXPECT_EQ(cutoff(), kNoCutoff);
  request.settings.top_k = 30;
  EXPECT_NEAR(cutoff(), logprobs[29], 1e-5);
  request.settings.top_k = 0;
  request.settings.top_p = 0.6;
  double reached = 0;
  std::size_t kept = 0;
  while (reached < 0.6) reached += std::exp(logprobs[kept++]);
  EXPECT_NEAR(cutoff(), logprobs[kept - 1], 1e-5);
  request.settings.top_p = 1;
  request.settings.min_p = 0.11;
  kept = 0;
  while (logprobs[kept] >= logprobs[0] + std::log(0.11)) ++kept;
  EXPECT_NEAR(cutoff(), logprobs[kept - 1], 1e-5);
}

}  // namespace
}  // namespace kw::lm::cpu
