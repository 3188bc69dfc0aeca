// An engine that shares a trainer's weights finds its tensors in two blocks. Addresses are numbers:
// no GPU is needed.
#include "lm/cuda/device_parameters.h"

#include <gtest/gtest.h>

namespace kw::lm::cuda {
namespace {

TEST(DeviceParameters, AViewFindsEachTensorAtItsNumberOfTheBlocks) {
  ModelConfig config;
  config.family = Family::kQwen3;
  config.vocabulary = 77;  // sizes that are no multiples of anything
  config.hidden = 24;
  config.layers = 2;
  config.heads = 3;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.intermediate = 36;
  config.max_position = 64;
  config.qkv_bias = config.qk_norm = config.mlp_bias = true;
  const Parameters p = Parameters::make(config, WeightType::kFloat32).value();
  alignas(256) const std::byte beginnings[512]{};  // of memory that nobody reads
  const auto vectors = reinterpret_cast<std::uintptr_t>(&beginnings[0]);
  const auto matrices = reinterpret_cast<std::uintptr_t>(&beginnings[256]);
  const DeviceParameters view = DeviceParameters::view({&p, &beginnings[0], &beginnings[256]});
  const auto* first = reinterpret_cast<const float*>(p.embedding.data);
  auto matrix = [&](const Matrix& one) {
    return matrices +
           2 * static_cast<std::uintptr_t>(reinterpret_cast<const float*>(one.data) - first);
  };
  auto vector = [&](std::span<const float> one) {
    return vectors + 4 * static_cast<std::uintptr_t>(one.data() - first);
  };
  EXPECT_EQ(view.embedding, matrices);
  EXPECT_EQ(view.head, matrix(p.head));
  EXPECT_EQ(view.final_norm, vector(p.final_norm));
  ASSERT_EQ(view.layers.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const LayerParameters& from = p.layers[i];
    const DeviceLayer& to = view.layers[i];
    EXPECT_EQ(to.input_norm, vector(from.input_norm));
    EXPECT_EQ(to.qkv, matrix(from.qkv));
    EXPECT_EQ(to.qkv_bias, vector(from.qkv_bias));
    EXPECT_EQ(to.q_norm, vector(from.q_norm));
    EXPECT_EQ(to.k_norm, vector(from.k_norm));
    EXPECT_EQ(to.output, matrix(from.output));
    EXPECT_EQ(to.output_bias, 0U);
    EXPECT_EQ(to.post_norm, vector(from.post_norm));
    EXPECT_EQ(to.gate_up, matrix(from.gate_up));
    EXPECT_EQ(to.gate_up_bias, vector(from.gate_up_bias));
    EXPECT_EQ(to.down, matrix(from.down));
    EXPECT_EQ(to.down_bias, vector(from.down_bias));
    for (const DevicePointer address : {to.qkv, to.output, to.gate_up, to.down})
      EXPECT_EQ(address % 256, 0U);
  }
}

}  // namespace
}  // namespace kw::lm::cuda
