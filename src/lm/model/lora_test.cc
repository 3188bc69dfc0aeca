// Adapters as files, and what is refused; transformers' PEFT reads and makes them in
// tests/train/sft_test.py.
#include "lm/model/lora.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing/folder.h"
#include "base/testing/values.h"
#include "os/file.h"

namespace kw::lm {
namespace {

Parameters made(std::int64_t hidden = 32, WeightType type = WeightType::kFloat32) {
  ModelConfig c;
  c.family = Family::kQwen2;
  c.vocabulary = 40;
  c.hidden = hidden;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate = 48;
  c.max_position = 64;
  c.tied_embeddings = true;
  c.qkv_bias = true;
  auto out = Parameters::make(c, type);
  EXPECT_TRUE(out);
  initialise(*out, 3);
  return std::move(*out);
}

LoraAdapter adapter_of(const Parameters& parameters, std::vector<std::string> targets) {
  auto out = new_lora(parameters, {2, 6, std::move(targets)}, 7);
  EXPECT_TRUE(out) << message_of(out);
  for (LoraMatrices& one : out->matrices)
    for (std::size_t i = 0; i < one.b.size(); ++i) one.b[i] = static_cast<float>(i % 5) - 2;
  return std::move(*out);
}

TEST(Lora, BeginsWithoutAChange) {
  const Parameters parameters = made();
  const LoraAdapter adapter = new_lora(parameters, {2, 6, lora_targets()}, 7).value();
  ASSERT_EQ(adapter.matrices.size(), 14U);
  EXPECT_EQ(adapter.matrices[1].projection, "model.layers.0.self_attn.k_proj");
  EXPECT_EQ(adapter.matrices[1].rows, 16);
  EXPECT_EQ(adapter.matrices[1].columns, 32);
  EXPECT_EQ(adapter.scale(), 3);
  for (const LoraMatrices& one : adapter.matrices) {
    float largest = 0;
    for (float value : one.a) largest = std::max(largest, std::abs(value));
    const double bound = 1 / std::sqrt(static_cast<double>(one.columns));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.8 * bound);
    EXPECT_EQ(one.b, std::vector<float>(one.b.size()));
  }
}

TEST(Lora, ReadsWhatItWrote) {
  TestFolder folder;
  const Parameters parameters = made();
  LoraAdapter adapter = adapter_of(parameters, {"v_proj", "down_proj"});
  adapter.base_model = "some/model";
  ASSERT_TRUE(save_lora(folder.path() / "a", adapter));
  const auto read = load_lora(folder.path() / "a", parameters);
  ASSERT_TRUE(read) << message_of(read);
  EXPECT_EQ(read->shape.targets, adapter.shape.targets);
  EXPECT_EQ(read->shape.alpha, 6);
  EXPECT_EQ(read->base_model, "some/model");
  ASSERT_EQ(read->matrices.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read->matrices[i].projection, adapter.matrices[i].projection);
    EXPECT_EQ(read->matrices[i].a, adapter.matrices[i].a);
    EXPECT_EQ(read->matrices[i].b, adapter.matrices[i].b);
  }
  EXPECT_EQ(read_lora_shape(folder.path() / "a")->rank, 2);
}

TEST(Lora, IsAddedToItsRowsAlone) {
  Parameters parameters = made(), narrow = made(32, WeightType::kBFloat16);
  const Parameters before = made();
  const LoraAdapter adapter = adapter_of(parameters, {"k_proj"});
  merge_lora(parameters, adapter);
  merge_lora(narrow, adapter);
  const auto was = before.named(), is = parameters.named(), rounded = narrow.named();
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (!is[i].is_matrix()) continue;
    SCOPED_TRACE(is[i].name);
    const bool is_target = is[i].name.find("k_proj") != std::string::npos;
    std::vector<float> a(static_cast<std::size_t>(is[i].matrix.columns)), b(a), c(a);
    bool is_same = true;
    for (std::int64_t r = 0; r < is[i].matrix.rows; ++r) {
      decode_row(was[i].matrix, r, a);
      decode_row(is[i].matrix, r, b);
      decode_row(rounded[i].matrix, r, c);
      is_same = is_same && a == b;
      if (is_target && i < 8) {
        const LoraMatrices& one = adapter.matrices[0];
        const auto row = static_cast<std::size_t>(r);
        for (std::size_t k = 0; k < a.size(); ++k) {
          const float product = one.b[2 * row] * one.a[k] + one.b[2 * row + 1] * one.a[32 + k];
          EXPECT_NEAR(b[k], a[k] + 3 * product, 1e-6);
        }
      }
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(c[k], b[k], 0.02);
    }
    EXPECT_EQ(is_same, !is_target);
  }
}

std::string refused(const std::function<void(Json&)>& change) {
  TestFolder folder;
  const Parameters parameters = made();
  EXPECT_TRUE(save_lora(folder.path(), adapter_of(parameters, {"q_proj"})));
  Json config = parse_json(os::read_file(folder.path() / "adapter_config.json").value()).value();
  change(config);
  EXPECT_TRUE(os::write_file_atomic(folder.path() / "adapter_config.json", config.dump()));
  const auto read = load_lora(folder.path(), parameters);
  EXPECT_FALSE(read);
  return message_of(read);
}

TEST(Lora, SaysWhatItCannotRead) {
  using testing::HasSubstr;
  EXPECT_THAT(refused([](Json& c) { c["use_dora"] = true; }), HasSubstr("use_dora: true"));
  EXPECT_THAT(refused([](Json& c) { c["rank_pattern"] = {{"q_proj", 8}}; }),
              HasSubstr("rank_pattern"));
  EXPECT_THAT(refused([](Json& c) { c["modules_to_save"] = {"lm_head"}; }),
              HasSubstr("modules_to_save"));
  EXPECT_THAT(refused([](Json& c) { c["peft_type"] = "IA3"; }), HasSubstr("peft_type: IA3"));
  EXPECT_THAT(refused([](Json& c) { c["r"] = 0; }), HasSubstr("rank: expected 1 or more"));
  EXPECT_THAT(refused([](Json& c) { c["target_modules"] = {"q_proj", "c_attn"}; }),
              HasSubstr("\"c_attn\" is no projection"));
  EXPECT_THAT(refused([](Json& c) { c["target_modules"] = {"q_proj", "k_proj"}; }),
              HasSubstr("k_proj.lora_A.weight"));
  EXPECT_THAT(refused([](Json& c) { c["target_modules"] = {"k_proj"}; }),
              HasSubstr("k_proj.lora_A.weight"));
  EXPECT_THAT(refused([](Json& c) { c["r"] = 3; }), HasSubstr("shape [2, 32], expected [3, 32]"));
}

TEST(Lora, AnAdapterOfAnotherModelIsRefused) {
  TestFolder folder;
  ASSERT_TRUE(save_lora(folder.path(), adapter_of(made(64), {"q_proj"})));
  const auto read = load_lora(folder.path(), made());
  ASSERT_FALSE(read);
  EXPECT_THAT(message_of(read), testing::HasSubstr("expected [2, 32] of this model"));
}

TEST(Lora, ATensorOfNoProjectionIsRefused) {
  TestFolder folder;
  const Parameters parameters = made();
  LoraAdapter adapter = adapter_of(parameters, {"q_proj"});
  adapter.matrices.push_back(adapter.matrices.front());
  adapter.matrices.back().projection = "model.layers.9.self_attn.q_proj";
  ASSERT_TRUE(save_lora(folder.path(), adapter));
  EXPECT_THAT(message_of(load_lora(folder.path(), parameters)),
              testing::HasSubstr("model.layers.9.self_attn.q_proj.lora_A.weight belongs to no"));
}

}  // namespace
}  // namespace kw::lm
