// Small random models for tests that compare the GPU with the CPU.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "cuda/context.h"
#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/model/parameters.h"

namespace kw::lm {

struct TestShape {
  const char* name;
  Family family;
  std::int64_t vocabulary, hidden, layers, heads, kv_heads, head_dim, intermediate;
  bool qkv_bias = false, other_biases = false, qk_norm = false, tied = false;
};

inline const std::vector<TestShape> kTestShapes = {
    {"qwen2", Family::kQwen2, 301, 128, 3, 4, 2, 32, 192, true, false, false, true},
    {"qwen3", Family::kQwen3, 520, 192, 2, 4, 1, 64, 256, false, false, true, false},
    {"llama", Family::kLlama, 512, 128, 2, 8, 8, 16, 320, false, true, false, false},
    {"large_group", Family::kQwen2, 300, 192, 2, 24, 2, 64, 200, true, false, false, true},
    {"qwen2.5_0.5b", Family::kQwen2, 5000, 896, 2, 14, 2, 64, 4864, true, false, false, true},
    {"qwen2.5_1.5b", Family::kQwen2, 4096, 1536, 2, 12, 2, 128, 8960, true, false, false, true},
    {"wide_head", Family::kLlama, 256, 256, 2, 2, 1, 256, 448, false, false, false, false},
};
inline const TestShape& test_shape(const std::string& name) {
  for (const TestShape& one : kTestShapes)
    if (one.name == name) return one;
  std::abort();
}

inline ModelConfig config_of(const TestShape& s) {
  ModelConfig c;
  c.family = s.family;
  c.vocabulary = s.vocabulary;
  c.hidden = s.hidden;
  c.layers = s.layers;
  c.heads = s.heads;
  c.kv_heads = s.kv_heads;
  c.head_dim = s.head_dim;
  c.intermediate = s.intermediate;
  c.max_position = 4096;
  c.rope_theta = 1e6;
  c.tied_embeddings = s.tied;
  c.qkv_bias = s.qkv_bias;
  c.output_bias = c.mlp_bias = s.other_biases;
  c.qk_norm = s.qk_norm;
  // Residual streams that grow as a trained model's do, and logits with a spread of a few units.
  c.initializer_range = s.hidden >= 800 ? 0.03 : 0.08;
  return c;
}

// Norms and biases that matter, too.
inline std::unique_ptr<Parameters> random_parameters(const TestShape& shape, WeightType type,
                                                     std::uint64_t seed = 7) {
  auto made = Parameters::make(config_of(shape), type);
  if (!made) return nullptr;
  auto out = std::make_unique<Parameters>(std::move(*made));
  initialise(*out, seed);
  Rng rng(seed + 4);
  for (const NamedParameter& one : out->named()) {
    const bool is_norm = one.name.find("norm") != std::string::npos;
    for (float& value : one.vector)
      value = is_norm ? 1 + 0.2F * static_cast<float>(rng.normal())
                      : 0.3F * static_cast<float>(rng.normal());
  }
  return out;
}

inline std::vector<std::int32_t> random_tokens(std::size_t count, std::int64_t vocabulary,
                                               std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::int32_t> out(count);
  for (std::int32_t& one : out)
    one = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(vocabulary)));
  return out;
}

// The same parameters on both. Skips the test where there is no GPU.
struct Pair {
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Engine> cpu, gpu;
};

inline cuda::CudaOptions gpu_options(EngineLimits limits) {
  cuda::CudaOptions out;
  out.limits = limits;
  return out;
}

#define KW_SKIP_WITHOUT_GPU()                                  \
  do {                                                         \
    if (auto context = ::kw::cuda::Context::open(0); !context) \
      GTEST_SKIP() << "no GPU: " << context.error().message(); \
  } while (false)

inline Pair make_pair_of_engines(const TestShape& shape, WeightType type,
                                 const cuda::CudaOptions& options) {
  Pair out;
  out.parameters = random_parameters(shape, type);
  auto cpu = cpu::make_cpu_engine(*out.parameters, {8, options.limits, nullptr});
  auto gpu = cuda::make_cuda_engine(*out.parameters, options);
  EXPECT_TRUE(cpu) << (cpu ? "" : cpu.error().message());
  EXPECT_TRUE(gpu) << (gpu ? "" : gpu.error().message());
  if (cpu) out.cpu = std::move(*cpu);
  if (gpu) out.gpu = std::move(*gpu);
  return out;
}

inline std::vector<float> logits_of(Engine& engine, const Step& step) {
  std::vector<float> out(step.samples.size() * static_cast<std::size_t>(engine.vocabulary()));
  engine.run_for_logits(step, out);
  return out;
}

inline SampleRequest request_at(std::size_t row) {
  SampleRequest out;
  out.row = static_cast<std::int32_t>(row);
  return out;
}

}  // namespace kw::lm
