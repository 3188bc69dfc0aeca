// Tests of the sampling check: honest samplers pass over many seeds, biased ones fail.
#include "gym/correctness/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

constexpr std::size_t kRows = 40, kVocabulary = 50;
using Sampler = std::function<std::int64_t(std::span<const double>, Rng&)>;

std::int64_t draw(std::span<const double> row, Rng& rng) {
  double u = rng.uniform();
  for (std::size_t i = 0; i < row.size(); ++i) {
    u -= row[i];
    if (u < 0) return static_cast<std::int64_t>(i);
  }
  return static_cast<std::int64_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

SamplingTest sampled(std::uint64_t seed, const Sampler& sampler, int calls = 20) {
  Rng inputs(seed), theirs(seed + 1000), secret(seed + 2000);
  SamplingTest test;
  for (int call = 0; call < calls; ++call) {
    std::vector<double> p(kRows * kVocabulary);
    std::vector<std::int32_t> ids;
    for (std::size_t r = 0; r < kRows; ++r) {
      double total = 0;
      std::span<double> row = std::span(p).subspan(r * kVocabulary, kVocabulary);
      for (double& v : row) total += v = inputs.below(4) == 0 ? 0 : std::exp(inputs.normal());
      for (double& v : row) v /= total;
      ids.push_back(static_cast<std::int32_t>(sampler(row, theirs)));
    }
    std::vector<std::int64_t> shape = {kRows};
    test.add({tensor::DType::kInt32, shape, std::as_bytes(std::span(ids))}, p, kVocabulary, secret);
  }
  return test;
}

TEST(Sampling, HonestSamplersPassAndTheirChancesAreUniform) {
  int below_half = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SamplingTest test = sampled(seed, draw, 10);
    EXPECT_TRUE(test.passed()) << seed << " " << test.chance();
    below_half += test.chance() < 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(below_half, 100, 45);
}

TEST(Sampling, GreedySharpenedUniformAndFirstSamplersFail) {
  Sampler greedy = [](std::span<const double> row, Rng&) {
    return std::max_element(row.begin(), row.end()) - row.begin();
  };
  Sampler sharpened = [](std::span<const double> row, Rng& rng) {
    std::vector<double> p(row.begin(), row.end());
    double total = 0;
    for (double& v : p) total += v = std::pow(v, 1.5);
    for (double& v : p) v /= total;
    return draw(p, rng);
  };
  Sampler flat = [](std::span<const double> row, Rng& rng) {
    while (true) {
      std::uint64_t i = rng.below(row.size());
      if (row[i] > 0) return static_cast<std::int64_t>(i);
    }
  };
  // The first possible index: uniform over the index order, but not drawn.
  Sampler first = [](std::span<const double> row, Rng&) {
    return std::find_if(row.begin(), row.end(), [](double p) { return p > 0; }) - row.begin();
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const Sampler& sampler : {greedy, sharpened, flat, first}) {
      SamplingTest test = sampled(seed, sampler);
      EXPECT_EQ(test.impossible(), 0U);
      EXPECT_FALSE(test.passed()) << seed;
    }
  }
}

TEST(Sampling, ImpossibleIndicesFailAtOnce) {
  for (std::int64_t id : {std::int64_t{-1}, static_cast<std::int64_t>(kVocabulary)}) {
    EXPECT_FALSE(sampled(1, [id](std::span<const double>, Rng&) { return id; }, 1).passed()) << id;
  }
  Sampler masked = [](std::span<const double> row, Rng&) {
    return std::find(row.begin(), row.end(), 0.0) - row.begin();
  };
  EXPECT_GT(sampled(1, masked, 1).impossible(), 30U);
}

// Every second call on the probabilities of the one before.
SamplingTest sampled_twice(std::uint64_t seed, const Sampler& sampler, int calls) {
  Rng inputs(seed), theirs(seed + 1000), secret(seed + 2000);
  SamplingTest test;
  std::vector<double> p(kRows * kVocabulary);
  for (int call = 0; call < calls; ++call) {
    std::vector<std::int32_t> ids;
    for (double& v : p) v = call % 2 == 0 ? std::exp(inputs.normal()) : v;
    for (std::size_t r = 0; r < kRows; ++r) {
      std::span<double> row = std::span(p).subspan(r * kVocabulary, kVocabulary);
      double total = std::accumulate(row.begin(), row.end(), 0.0);
      for (double& v : row) v = call % 2 == 0 ? v / total : v;
      ids.push_back(static_cast<std::int32_t>(sampler(row, theirs)));
    }
    std::vector<std::int64_t> shape = {kRows};
    test.add({tensor::DType::kInt32, shape, std::as_bytes(std::span(ids))}, p, kVocabulary, secret);
  }
  return test;
}

// Right in distribution over fresh probabilities, and one draw for each of them.
TEST(Sampling, DrawsThatAreAFunctionOfTheProbabilitiesFail) {
  Sampler hashed = [](std::span<const double> row, Rng&) {
    Rng fixed(static_cast<std::uint64_t>(row[0] * 1e18));
    return draw(row, fixed);
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(sampled(seed, hashed, 10).passed()) << seed;
    SamplingTest test = sampled_twice(seed, hashed, 2);
    EXPECT_FALSE(test.is_drawn_anew()) << seed;
    EXPECT_FALSE(test.passed()) << seed;
  }
}

TEST(Sampling, HonestSamplersPassOnRepeatedProbabilities) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SamplingTest test = sampled_twice(seed, draw, 6);
    EXPECT_TRUE(test.passed()) << seed << " " << test.chance() << " " << test.repeat_chance();
  }
}

// A row with one choice agrees with itself.
TEST(Sampling, CertainRowsMayRepeat) {
  SamplingTest test;
  Rng secret(1);
  std::vector<double> p(kRows * kVocabulary, 0);
  for (std::size_t r = 0; r < kRows; ++r) p[r * kVocabulary + 7] = 1;
  std::vector<std::int32_t> ids(kRows, 7);
  std::vector<std::int64_t> shape = {kRows};
  for (int call = 0; call < 6; ++call)
    test.add({tensor::DType::kInt32, shape, std::as_bytes(std::span(ids))}, p, kVocabulary, secret);
  EXPECT_TRUE(test.passed());
}

}  // namespace
}  // namespace kw::gym
