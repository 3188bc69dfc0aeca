// The whole way from text to tokens and back, special tokens, invalid bytes, files that are
// refused.
#include "lm/tokenizer/tokenizer.h"

#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"
#include "os/file.h"

namespace kw::lm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ids: bytes, then "th" 256, "the" 257, "Ġthe" 258, then the special tokens 259, 260, 261.
Json small() {
  return testing::tokenizer_json({{"t", "h"}, {"th", "e"}, {"Ġ", "the"}});
}

Tokenizer make_tokenizer(const Json& json, const Json* config = nullptr) {
  auto out = Tokenizer::from_json(json, config);
  EXPECT_TRUE(out) << out.error().message();
  return std::move(*out);
}

TEST(Tokenizer, EncodesAndDecodes) {
  Tokenizer tokenizer = make_tokenizer(small());
  EXPECT_THAT(*tokenizer.encode("the the"), ElementsAre(257, 258));
  EXPECT_THAT(*tokenizer.encode("<|im_start|>the\n"), ElementsAre(260, 257, '\n'));
  EXPECT_EQ(tokenizer.encode("<|im_start|>", {.parse_special = false})->size(), 12U);
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{260, 257, 258, 261}), "the the");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{260, 257}, false), "<|im_start|>the");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-1, 999, 257}), "the");
  EXPECT_EQ(tokenizer.size(), 262U);
  EXPECT_EQ(tokenizer.token_id("Ġthe"), 258);
  EXPECT_EQ(tokenizer.token_id("<|im_end|>"), 261);
  EXPECT_EQ(tokenizer.token_bytes(258), " the");
  EXPECT_TRUE(tokenizer.is_special(259));
  EXPECT_FALSE(tokenizer.is_special(258));
}

TEST(Tokenizer, NormalisesBetweenTokensOnly) {
  Json json = small();
  json["added_tokens"].push_back(
      {{"id", 262}, {"content", "e\u0301"}, {"special", false}, {"normalized", false}});
  EXPECT_THAT(*make_tokenizer(json).encode("e\u0301a\u0301"), ElementsAre(262, 0xC3, 0xA1));
  json["added_tokens"][3]["normalized"] = true;  // found as é too
  EXPECT_THAT(*make_tokenizer(json).encode("e\u0301\u00E9"), ElementsAre(262, 262));
}

TEST(Tokenizer, FlagsOfAddedTokens) {
  Json json = small();
  auto with = [&](const char* flag) {
    Json changed = json;
    changed["added_tokens"].push_back(
        {{"id", 262}, {"content", "@@"}, {"special", false}, {"normalized", false}, {flag, true}});
    return make_tokenizer(changed);
  };
  EXPECT_THAT(*with("lstrip").encode("x \n@@ y"), ElementsAre('x', 262, ' ', 'y'));
  EXPECT_THAT(*with("rstrip").encode("x @@\u3000 y"), ElementsAre('x', ' ', 262, 'y'));
  EXPECT_THAT(*with("single_word").encode("@@ x@@ @@"),
              ElementsAre(262, ' ', 'x', '@', '@', ' ', 262));
  EXPECT_THAT(*with("single_word").encode("\u00E9@@"), ElementsAre(0xC3, 0xA9, '@', '@'));
}

TEST(Tokenizer, LongestTokenWins) {
  Json json = testing::tokenizer_json({}, {"<a>", "<a><b>"});
  EXPECT_THAT(*make_tokenizer(json).encode("<a><b><a>"), ElementsAre(257, 256));
}

TEST(Tokenizer, InvalidBytesAreReplacementCharacters) {
  Tokenizer tokenizer = make_tokenizer(small());
  EXPECT_EQ(*tokenizer.encode("a\xF0\x9F\x98"), *tokenizer.encode("a\uFFFD"));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0xF0, 0x9F, 0x98, 'b', 0xFF}), "\uFFFDb\uFFFD");
}

TEST(Tokenizer, PostProcessorAddsTokens) {
  Json json = small();
  json["post_processor"] = *parse_json(R"({"type":"Sequence","processors":[
    {"type":"ByteLevel"},
    {"type":"TemplateProcessing",
     "single":[{"SpecialToken":{"id":"B","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"E","type_id":0}}],
     "special_tokens":{"B":{"id":"B","ids":[259],"tokens":["B"]},"E":{"id":"E","ids":[261,260],"tokens":["E"]}}}]})");
  Tokenizer tokenizer = make_tokenizer(json);
  EXPECT_THAT(*tokenizer.encode("the"), ElementsAre(259, 257, 261, 260));
  EXPECT_THAT(*tokenizer.encode("the", {.add_special = false}), ElementsAre(257));
}

TEST(Tokenizer, ReadsTheConfig) {
  Json config = *parse_json(
      R"({"eos_token":{"content":"<|im_end|>"},"pad_token":"<|endoftext|>","bos_token":null,
    "chat_template":[{"name":"rag","template":"no"},{"name":"default","template":"yes"}],
    "added_tokens_decoder":{"262":{"content":"<new>","special":true}}})");
  Tokenizer tokenizer = make_tokenizer(small(), &config);
  EXPECT_EQ(tokenizer.eos(), 261);
  EXPECT_EQ(tokenizer.pad(), 259);
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_EQ(tokenizer.config().chat_template, "yes");
  EXPECT_THAT(*tokenizer.encode("<new>"), ElementsAre(262));
}

// The settings of Gemma, and those of Llama 2, on a vocabulary of a few tokens.
Json sentence_pieces() {
  return *parse_json(R"({"normalizer":{"type":"Sequence","normalizers":[
      {"type":"Prepend","prepend":"\u2581"},
      {"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]},
    "decoder":{"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"\u2581"},"content":" "},
      {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
    "model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,"unk_token":"<unk>",
      "vocab":{"<unk>":0,"\u2581":1,"a":2,"\u2581a":3,"<0xC3>":4,"<0xA9>":5,"<0x0A>":6},
      "merges":[["\u2581","a"]]}})");
}

TEST(Tokenizer, CharactersWithFallbackToBytes) {
  Tokenizer tokenizer = make_tokenizer(sentence_pieces());
  EXPECT_THAT(*tokenizer.encode("a a\u00E9\n"), ElementsAre(3, 3, 4, 5, 6));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3, 3, 4, 5, 6}), "a a\u00E9\n");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 5, 4, 5, 2}), "a\uFFFD\uFFFD\uFFFDa");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, 1, 2}), " a");
  Json unknown = sentence_pieces();
  unknown["decoder"]["decoders"][3]["stop"] = 1;
  auto refused = Tokenizer::from_json(unknown);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("decoder.decoders[3].type: \"Strip\""));
}

TEST(Tokenizer, ManyThreadsEncodeAlike) {
  Tokenizer tokenizer = make_tokenizer(small());
  auto wanted = *tokenizer.encode("the cat, the hat and then the bat");
  std::vector<std::jthread> threads;
  std::atomic<int> equal{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        equal += *tokenizer.encode("the cat, the hat and then the bat") == wanted ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(equal, 800);
}

TEST(Tokenizer, RefusesAndNamesTheKey) {
  auto message = [](auto change) {
    Json json = small();
    change(json);
    auto tokenizer = Tokenizer::from_json(json);
    return tokenizer ? std::string("accepted") : tokenizer.error().message();
  };
  EXPECT_THAT(message([](Json& j) { j.erase("model"); }), HasSubstr("model: missing"));
  EXPECT_THAT(message([](Json& j) { j["pre_tokenizer"] = nullptr; }),
              HasSubstr("decoder.type: \"ByteLevel\" is not read without a ByteLevel"));
  EXPECT_THAT(message([](Json& j) { j["decoder"]["type"] = "Metaspace"; }),
              HasSubstr("decoder.type: \"Metaspace\" is not read behind a ByteLevel"));
  EXPECT_THAT(message([](Json& j) { j["normalizer"]["type"] = "NFKC"; }),
              HasSubstr("normalizer.type: \"NFKC\""));
  EXPECT_THAT(message([](Json& j) { j["decoder"] = nullptr; }), HasSubstr("decoder"));
  EXPECT_THAT(message([](Json& j) { j["decoder"]["type"] = "WordPiece"; }),
              HasSubstr("decoder.type"));
  EXPECT_THAT(message([](Json& j) { j["post_processor"] = {{"type", "BertProcessing"}}; }),
              HasSubstr("post_processor.type"));
  EXPECT_THAT(message([](Json& j) { j["added_tokens"][1]["content"] = ""; }),
              HasSubstr("added_tokens[1].content"));
  EXPECT_THAT(message([](Json& j) { j["added_tokens"][1]["id"] = 7; }),
              HasSubstr("added_tokens[1]: id 7"));
  EXPECT_THAT(message([](Json& j) { j["added_tokens"][1]["content"] = "<|im_end|>"; }),
              HasSubstr("added_tokens[2]: \"<|im_end|>\" is there twice"));
  EXPECT_THAT(message([](Json& j) { j["added_tokens"] = 1; }),
              HasSubstr("added_tokens: expected a list"));
  EXPECT_THAT(
      message([](Json& j) {
        j["post_processor"] = *parse_json(
            R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"B"}},{"Sequence":{"id":"A"}}],"special_tokens":{"B":{"ids":[4000]}}})");
      }),
      HasSubstr("post_processor.special_tokens.B.ids: 4000"));
}

TEST(Tokenizer, FilesAreNamedInErrors) {
  auto folder = os::TempDir::make("tokenizer");
  ASSERT_TRUE(folder);
  auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder->path() / name) << text;
  };
  auto message = [&] {
    auto tokenizer = Tokenizer::load(folder->path());
    return tokenizer ? std::string("accepted") : tokenizer.error().message();
  };
  EXPECT_THAT(message(), HasSubstr("tokenizer.json"));
  write("tokenizer.json", small().dump().substr(0, 2000));
  EXPECT_THAT(message(), HasSubstr("tokenizer.json: not valid JSON"));
  Json bad = small();
  bad["model"]["merges"][1] = "x";
  write("tokenizer.json", bad.dump());
  EXPECT_THAT(message(), HasSubstr("tokenizer.json: model.merges[1]"));
  write("tokenizer.json", small().dump());
  EXPECT_EQ(message(), "accepted");
  write("tokenizer_config.json", R"({"eos_token":"<|nowhere|>"})");
  EXPECT_THAT(message(),
              HasSubstr("tokenizer_config.json: eos_token: \"<|nowhere|>\" is no token"));
  write("tokenizer_config.json", "{");
  EXPECT_THAT(message(), HasSubstr("tokenizer_config.json: not valid JSON"));
  write("tokenizer_config.json", "{}");
  write("chat_template.jinja", "{{ x }}");
  EXPECT_EQ(Tokenizer::load(folder->path() / "tokenizer.json")->config().chat_template, "{{ x }}");
}

}  // namespace
}  // namespace kw::lm
