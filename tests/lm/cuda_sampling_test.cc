// Drawing on the GPU against the CPU's sampler, from the same logits.
#include <cmath>
#include <cstdio>

#include "cuda_models.h"
#include "lm/cpu/cpu_sampler.h"

namespace kw::lm {
namespace {

constexpr std::int64_t kRows = 48;

class CudaSampling : public ::testing::Test {
 protected:
  void SetUp() override {
    KW_SKIP_WITHOUT_GPU();
    for (const char* name : {"qwen2.5_0.5b", "qwen2"}) {
      const TestShape& shape = test_shape(name);
      auto parameters = random_parameters(shape, WeightType::kBFloat16);
      // Equal logits: pairs of equal rows of the head (and embedding).
      for (std::int64_t row = 0; row + 1 < shape.vocabulary; row += 2)
        std::copy_n(parameters->head.row(row), shape.hidden * 2, parameters->head.row(row + 1));
      auto engine = cuda::make_cuda_engine(*parameters, gpu_options({kRows, 64, kRows + 1}));
      ASSERT_TRUE(engine) << engine.error().message();
      engines_.push_back(std::move(*engine));
    }
  }

  Step step_of(const SampleRequest& pattern, std::int64_t vocabulary, std::uint32_t round) {
    const auto tokens = random_tokens(static_cast<std::size_t>(kRows), vocabulary, 9 + round);
    Step step;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      step.add(tokens[i], 0, static_cast<std::int32_t>(i), Phase::kDecode);
      step.samples.push_back(pattern);
      step.samples.back().row = static_cast<std::int32_t>(i);
      step.samples.back().seed = 77;
      step.samples.back().sequence = (std::uint64_t{round} << 33U) + i;
      step.samples.back().position = round * 1000 + 1;
    }
    return step;
  }

  // Tokens may differ where a random number falls on the edge between two: rounding of sums.
  void expect_same(const char* what, const SampleRequest& pattern, bool through_graph = true) {
    std::size_t draws = 0, different = 0;
    double worst = 0, worst_policy = 0, worst_entropy = 0, worst_cutoff = 0;
    for (auto& engine : engines_) {
      const auto width = static_cast<std::size_t>(engine->vocabulary());
      cpu::CpuSampler sampler(cpu::best_kernels());
      for (std::uint32_t round = 0; round < 8; ++round) {
        Step step = step_of(pattern, engine->vocabulary(), round);
        auto logits = logits_of(*engine, step);
        if (!through_graph) step.samples.push_back(step.samples[0]);  // more samples than rows
        std::vector<Sample> samples(step.samples.size());
        engine->run(step, samples);
        for (std::size_t i = 0; i < static_cast<std::size_t>(kRows); ++i) {
          std::vector<float> row(logits.begin() + static_cast<std::ptrdiff_t>(i * width),
                                 logits.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
          const Sample expected = sampler.draw(row, step.samples[i]);
          ++draws;
          ASSERT_GE(samples[i].token, 0);
          ASSERT_LT(samples[i].token, engine->vocabulary());
          worst_entropy = std::max(worst_entropy, std::abs(static_cast<double>(samples[i].entropy) -
                                                           static_cast<double>(expected.entropy)));
          check_top(samples[i], expected);
          if (samples[i].token != expected.token) {
            ++different;
            continue;
          }
          worst_cutoff = std::max(worst_cutoff, std::abs(static_cast<double>(samples[i].cutoff) -
                                                         static_cast<double>(expected.cutoff)));
          worst = std::max(worst, std::abs(static_cast<double>(samples[i].logprob) -
                                           static_cast<double>(expected.logprob)));
          worst_policy =
              std::max(worst_policy, std::abs(static_cast<double>(samples[i].policy_logprob) -
                                              static_cast<double>(expected.policy_logprob)));
        }
      }
    }
    std::printf("%s: %zu draws, %zu different; worst logprob %.1e, policy %.1e, entropy %.1e\n",
                what, draws, different, worst, worst_policy, worst_entropy);
    EXPECT_LE(different, 1U) << what;
    EXPECT_LT(worst, 1e-4) << what;
    EXPECT_LT(worst_policy, 1e-4) << what;
    EXPECT_LT(worst_entropy, 1e-3) << what;
    EXPECT_LT(worst_cutoff, 1e-4) << what;
  }

  static void check_top(const Sample& sample, const Sample& expected) {
    ASSERT_EQ(sample.top.size(), expected.top.size());
    for (std::size_t k = 0; k < sample.top.size(); ++k) {
      EXPECT_EQ(sample.top[k].token, expected.top[k].token);
      EXPECT_NEAR(sample.top[k].logprob, expected.top[k].logprob, 1e-4);
    }
  }

  std::vector<std::unique_ptr<Engine>> engines_;
};

SampleRequest with(double temperature, std::int64_t top_k = 0, double top_p = 1, double min_p = 0) {
  SampleRequest out;
  out.settings = {temperature, top_k, top_p, min_p};
  return out;
}

TEST_F(CudaSampling, DrawsFromAll) {
  expect_same("temperature 1", with(1));
  expect_same("temperature 0.7", with(0.7));
  expect_same("temperature 2.5", with(2.5), false);
  expect_same("temperature 0.05", with(0.05));
}

TEST_F(CudaSampling, TakesTheFirstOfTheLargest) {
  expect_same("greedy", with(0));
}

TEST_F(CudaSampling, Truncates) {
  expect_same("top_k 1", with(1, 1));
  expect_same("top_k 7", with(1, 7));
  expect_same("top_k 50, temperature 0.8", with(0.8, 50), false);
  expect_same("top_k of all", with(1, 1'000'000));
  expect_same("top_p 0.9", with(1, 0, 0.9));
  expect_same("top_p 0.5, temperature 2", with(2, 0, 0.5));
  expect_same("top_p 0.001", with(1, 0, 0.001));
  expect_same("min_p 0.1", with(1, 0, 1, 0.1));
  expect_same("min_p 1", with(1, 0, 1, 1));
  expect_same("all of them", with(1.3, 40, 0.8, 0.05));
  expect_same("top_p and min_p", with(1, 0, 0.95, 0.02));
}

TEST_F(CudaSampling, Masks) {
  auto mask = std::make_shared<LogitMask>(
      3);  // shorter than the vocabulary: what is missing is not allowed
  (*mask)[0] = 0x8000'0000'0000'0101ULL;
  (*mask)[2] = 0xFFFFULL;
  for (SampleRequest request :
       {with(1), with(0), with(0.5, 3), with(1, 0, 0.7), with(1, 0, 1, 0.3)}) {
    request.mask = mask;
    expect_same("masked", request);
    expect_same("masked", request, false);
  }
}

TEST_F(CudaSampling, ReportsForcedTokensAndTheLikeliest) {
  SampleRequest forced = with(0.5, 3);
  forced.forced = 17;
  expect_same("forced", forced);
  SampleRequest top = with(0.9, 0, 0.9);
  top.top_logprobs = 20;
  expect_same("top log-probabilities", top);
  expect_same("top log-probabilities", top, false);
}

// More samples of a step than logits are kept of at once.
TEST_F(CudaSampling, ManySamplesOfAStep) {
  const TestShape& shape = test_shape("qwen2");
  auto parameters = random_parameters(shape, WeightType::kBFloat16);
  auto engine = cuda::make_cuda_engine(*parameters, gpu_options({2, 700, 600}));
  ASSERT_TRUE(engine) << engine.error().message();
  Step step;
  const auto tokens = random_tokens(600, shape.vocabulary, 3);
  for (std::size_t i = 0; i < 600; ++i) {
    step.add(tokens[i], static_cast<std::int32_t>(i), 1);
    step.samples.push_back(request_at(i));
    step.samples.back().sequence = i;
  }
  std::vector<Sample> samples(600);
  (*engine)->run(step, samples);
  auto logits = logits_of(**engine, step);
  cpu::CpuSampler sampler(cpu::best_kernels());
  const auto width = static_cast<std::size_t>(shape.vocabulary);
  std::size_t different = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    std::span<float> row(logits.data() + i * width, width);
    if (sampler.draw(row, step.samples[i]).token != samples[i].token) ++different;
  }
  EXPECT_LE(different, 1U);
}

}  // namespace
}  // namespace kw::lm
