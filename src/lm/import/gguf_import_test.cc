// A GGUF model of a few numbers: what is written, and which files are refused.
// tests/lm/gguf_test.py compares with transformers.
#include "lm/import/gguf_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/folder.h"
#include "base/testing/values.h"
#include "lm/model/checkpoint.h"
#include "lm/tokenizer/tokenizer.h"
#include "os/file.h"
#include "tensor/testing/gguf_builder.h"

namespace kw::lm {
namespace {

using tensor::GgufBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One layer: D = 4, H = 2, G = 1, d = 2, F = 3, V = 5.
struct Model {
  std::string architecture = "llama", pre = "smollm", tokenizer = "gpt2", leave_out = "";
  std::vector<std::string> tokens = {"<s>", "a", "b", "ab", "1"};
  std::vector<std::int32_t> types = {3, 1, 1, 1, 1};
  std::uint32_t eos = 0;
  float weight = 1;
  bool other_tensor = false;
  float theta = 10000;
  std::vector<float> rope_table = {};

  std::string file() const {
    GgufBuilder b;
    b.key("general.architecture", architecture.c_str());
    for (auto [name, value] :
         {std::pair("embedding_length", 4U), std::pair("block_count", 1U),
          std::pair("feed_forward_length", 3U), std::pair("attention.head_count", 2U),
          std::pair("attention.head_count_kv", 1U), std::pair("context_length", 64U)})
      if (leave_out != name) b.key(architecture + "." + name, value);
    b.key(architecture + ".attention.layer_norm_rms_epsilon", 1e-5F);
    b.key("tokenizer.ggml.model", tokenizer.c_str());
    b.key("tokenizer.ggml.pre", pre.c_str());
    b.key("tokenizer.ggml.tokens", tokens);
    b.key("tokenizer.ggml.token_type", types);
    b.key("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
    b.key("tokenizer.ggml.bos_token_id", 0U);
    b.key("tokenizer.ggml.eos_token_id", eos);
    b.key("tokenizer.chat_template", "{{ messages[0].content }}");
    auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
      if (leave_out == name) return;
      std::vector<float> values(rows * columns, weight);
      for (std::size_t at = 1; at < values.size(); ++at) values[at] = static_cast<float>(at);
      b.tensor(name, {rows, columns}, values);
    };
    matrix("token_embd.weight", 5, 4);
    b.tensor("output_norm.weight", {4}, {1, 1, 1, 1});
    b.tensor("blk.0.attn_norm.weight", {4}, {1, 1, 1, 1});
    b.tensor("blk.0.ffn_norm.weight", {4}, {1, 2, 3, 4});
    matrix("blk.0.attn_q.weight", 8, 4);
    matrix("blk.0.attn_k.weight", 4, 4);
    matrix("blk.0.attn_v.weight", 4, 4);
    matrix("blk.0.attn_output.weight", 4, 8);
    matrix("blk.0.ffn_gate.weight", 3, 4);
    matrix("blk.0.ffn_up.weight", 3, 4);
    matrix("blk.0.ffn_down.weight", 4, 3);
    b.key(architecture + ".attention.key_length", 4U);
    if (other_tensor) b.tensor("blk.0.other.weight", {1}, {1});
    b.key(architecture + ".rope.freq_base", theta);
    if (!rope_table.empty()) b.tensor("rope_freqs.weight", {2}, rope_table);
    return b.file();
  }
};

class GgufImportTest : public ::testing::Test {
 protected:
  Result<ImportedModel> read(const Model& model) {
    return read_gguf_model(folder_.write("m.gguf", model.file()));
  }
  std::string problem(const Model& model) { return message_of(read(model)); }
  TestFolder folder_;
};

TEST_F(GgufImportTest, WritesAFolderThatLoads) {
  auto model = read({});
  ASSERT_TRUE(model) << message_of(model);
  const auto out = folder_.path() / "out";
  ASSERT_TRUE(write_model(out, *model, WeightType::kFloat32));
  auto config = read_model_config(out);
  ASSERT_TRUE(config) << message_of(config);
  EXPECT_EQ(config->family, Family::kLlama);
  EXPECT_EQ(config->vocabulary, 5);
  EXPECT_EQ(config->head_dim, 4);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_THAT(config->eos, ElementsAre(0));
  EXPECT_EQ(config->norm_epsilon, static_cast<double>(1e-5F));
  auto loaded = load_checkpoint(out, *config, WeightType::kFloat32);
  ASSERT_TRUE(loaded) << message_of(loaded);
  // Rows of q: halves of a head are put back from their turns. Rows of v stay.
  std::vector<float> first_of_row;
  for (std::int64_t row = 0; row < 16; ++row) {
    std::vector<float> values(4);
    decode_row(loaded->layers[0].qkv, row, values);
    first_of_row.push_back(values[1]);
  }
  EXPECT_THAT(first_of_row, ElementsAre(1, 9, 5, 13, 17, 25, 21, 29, 1, 9, 5, 13, 1, 5, 9, 13));
  EXPECT_EQ(loaded->layers[0].post_norm[2], 3);
  auto tokenizer = Tokenizer::load(out);
  ASSERT_TRUE(tokenizer) << message_of(tokenizer);
  EXPECT_THAT(*tokenizer->encode("<s>abx11"), ElementsAre(0, 3, 4, 4));
  EXPECT_EQ(tokenizer->config().chat_template, "{{ messages[0].content }}");
  EXPECT_EQ(write_model(out, *model, WeightType::kFloat32).error().code(),
            ErrorCode::kAlreadyExists);
}

// 2.69453 divides a frequency of 500000^-0.5 where Llama 3.1's factor is 8.
TEST_F(GgufImportTest, KnowsLlamasRotationByItsTable) {
  auto model = read({.theta = 500000, .rope_table = {1, 2.69453F}});
  ASSERT_TRUE(model) << message_of(model);
  const RopeScaling& rope = model->parameters.config().rope;
  EXPECT_EQ(rope.kind, RopeScaling::Kind::kLlama3);
  EXPECT_EQ(rope.factor, 8);
  EXPECT_EQ(rope.original_max_position, 8192);
}

TEST_F(GgufImportTest, NamesWhatIsWrong) {
  EXPECT_THAT(problem({.architecture = "gemma3"}),
              HasSubstr("m.gguf: general.architecture: \"gemma3\" is not read"));
  EXPECT_THAT(problem({.leave_out = "block_count"}), HasSubstr("llama.block_count: missing"));
  EXPECT_THAT(problem({.leave_out = "token_embd.weight"}),
              HasSubstr("token_embd.weight: expected"));
  EXPECT_THAT(problem({.leave_out = "blk.0.attn_v.weight"}),
              HasSubstr("blk.0.attn_v.weight: is missing"));
  EXPECT_THAT(problem({.other_tensor = true}), HasSubstr("blk.0.other.weight: is no part"));
  EXPECT_THAT(problem({.rope_table = {1, 3}}), HasSubstr("rope_freqs.weight: no table"));
  EXPECT_THAT(problem({.weight = std::numeric_limits<float>::infinity()}),
              HasSubstr("token_embd.weight: is not finite"));
  EXPECT_THAT(problem({.tokenizer = "llama"}), HasSubstr("tokenizer.ggml.model: \"llama\""));
  EXPECT_THAT(problem({.pre = "viking"}), HasSubstr("tokenizer.ggml.pre: \"viking\""));
  EXPECT_THAT(problem({.tokens = {"<s>", "a", "b", "ab", "a"}}),
              HasSubstr("tokenizer.ggml.tokens[4]: \"a\" is there twice"));
  EXPECT_THAT(problem({.tokens = {"<s>", "a", "b", "ab"}}), HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(problem({.tokens = {"<s>", "a", "b", "ab", "1", "2"}, .types = {3, 1, 1, 1, 1, 1}}),
              HasSubstr("6 tokens, and token_embd.weight has 5 rows"));
  EXPECT_THAT(problem({.eos = 9}), HasSubstr("eos_token_id"));
  EXPECT_EQ(read_gguf_model(folder_.path() / "gone.gguf").error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kw::lm
