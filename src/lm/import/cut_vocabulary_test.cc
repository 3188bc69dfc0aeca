// The data set has the same tokens under other numbers, with the same embeddings.
#include "lm/import/cut_vocabulary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/folder.h"
#include "base/testing/values.h"
#include "lm/tokenizer/testing/small_tokenizer.h"
#include "lm/tokenizer/tokenizer.h"

namespace kw::lm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes but "z" and "~"; "th" 256, "the" 257, "Ġthe" 258, "he" 259, "ab" 260, "abc" 261; special
// tokens 262 to 264.
ImportedModel model() {
  Json tokenizer = testing::tokenizer_json(
      {{"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"h", "e"}, {"a", "b"}, {"ab", "c"}});
  tokenizer["model"]["vocab"].erase("z");
  tokenizer["model"]["vocab"].erase("~");
  Json config = {{"eos_token", "<|im_end|>"}};
  ModelConfig small;
  small.vocabulary = 265;
  small.hidden = small.head_dim = small.intermediate = 4;
  small.layers = small.heads = small.kv_heads = 1;
  small.max_position = 16;
  small.tied_embeddings = true;
  small.qkv_bias = true;
  small.eos = {264};
  auto parameters = Parameters::make(small, WeightType::kFloat32);
  EXPECT_TRUE(parameters) << message_of(parameters);
  initialise(*parameters, 1);
  return {std::move(*parameters), {std::move(tokenizer), std::move(config)}};
}

std::vector<float> row_of(const Parameters& parameters, std::int64_t row) {
  std::vector<float> out(4);
  decode_row(parameters.embedding, row, out);
  return out;
}

TEST(CutVocabulary, KeepsWhatTheDataUses) {
  TestFolder folder;
  const auto data = folder.write(
      "data.jsonl",
      R"({"messages": [{"role": "user", "content": "the the"}, {"role": "assistant", "content": "he"}]})"
      "\n\n"
      R"({"prompt": "x", "more": [1, {"completion": "the"}]})"
      "\n");
  const ImportedModel before = model();
  ImportedModel after = model();
  auto report = cut_vocabulary(after, data);
  ASSERT_TRUE(report) << message_of(report);
  EXPECT_EQ(report->rows, 2U);
  EXPECT_EQ(report->tokens_before, 263U);
  EXPECT_EQ(report->bytes_added, 2U);
  EXPECT_EQ(report->tokens_after, 256 + 4 + 3);
  auto old_tokenizer = Tokenizer::from_json(before.tokenizer.tokenizer, &before.tokenizer.config);
  auto tokenizer = Tokenizer::from_json(after.tokenizer.tokenizer, &after.tokenizer.config);
  ASSERT_TRUE(tokenizer) << message_of(tokenizer);
  EXPECT_EQ(static_cast<std::int64_t>(tokenizer->size()), after.parameters.config().vocabulary);
  for (const char* text : {"the the", "he", "the", "<|im_start|>user\nthe<|im_end|>"}) {
    const auto old_ids = *old_tokenizer->encode(text), ids = *tokenizer->encode(text);
    ASSERT_EQ(ids.size(), old_ids.size()) << text;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      EXPECT_EQ(tokenizer->token_bytes(ids[at]), old_tokenizer->token_bytes(old_ids[at]));
      EXPECT_EQ(row_of(after.parameters, ids[at]), row_of(before.parameters, old_ids[at]));
    }
  }
  EXPECT_EQ(tokenizer->encode("abc")->size(), 3U);
  EXPECT_EQ(tokenizer->decode(*tokenizer->encode("z~")), "z~");
  EXPECT_EQ(old_tokenizer->encode("z~")->size(), 0U);
  EXPECT_EQ(tokenizer->token_id("<|im_end|>"), after.parameters.config().eos[0]);
  EXPECT_EQ(after.parameters.layers[0].qkv_bias.size(),
            before.parameters.layers[0].qkv_bias.size());
}

TEST(CutVocabulary, NamesFileAndLine) {
  TestFolder folder;
  auto problem = [&](const std::string& text) {
    ImportedModel changed = model();
    return message_of(cut_vocabulary(changed, folder.write("data.jsonl", text)));
  };
  EXPECT_THAT(problem("{}\n{"), HasSubstr("data.jsonl:2: "));
  EXPECT_THAT(problem("\n"), HasSubstr("data.jsonl: has no rows"));
  EXPECT_THAT(problem(R"({"messages": [{"role": 1}]})"), HasSubstr("data.jsonl:1: messages[0]"));
  ImportedModel changed = model();
  EXPECT_EQ(cut_vocabulary(changed, folder.path() / "gone").error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kw::lm
