// Merging: both ways against a slow third one, ignore_merges, the cache, refused models.
#include "lm/tokenizer/bpe.h"

#include <algorithm>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::lm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Merges = std::vector<std::pair<std::string, std::string>>;

Bpe make_bpe(const Merges& merges, bool ignore_merges = false) {
  Json model = testing::tokenizer_json(merges)["model"];
  model["ignore_merges"] = ignore_merges;
  auto out = Bpe::from_json(model, "model");
  EXPECT_TRUE(out) << out.error().message();
  return std::move(*out);
}

std::vector<std::string> tokens(const Bpe& bpe, std::string_view word) {
  std::vector<TokenId> ids;
  bpe.encode(word, ids);
  std::vector<std::string> out;
  for (TokenId id : ids) out.push_back(bpe.tokens()[static_cast<std::size_t>(id)]);
  return out;
}

// Merges as the definition says: the pair of lowest rank, leftmost, again and again.
std::vector<std::string> slowly(const Merges& merges, std::string_view word) {
  std::vector<std::string> parts;
  for (char c : word) parts.emplace_back(1, c);
  while (true) {
    std::size_t best = parts.size();
    std::size_t best_rank = merges.size();
    for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
      auto found = std::find(merges.begin(), merges.end(), std::pair(parts[at], parts[at + 1]));
      auto rank = static_cast<std::size_t>(found - merges.begin());
      if (rank < best_rank) {
        best = at;
        best_rank = rank;
      }
    }
    if (best == parts.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, MergesTheLowestRankFirst) {
  Bpe bpe = make_bpe({{"b", "c"}, {"a", "b"}, {"a", "bc"}});
  EXPECT_THAT(tokens(bpe, "abc"), ElementsAre("abc"));
  EXPECT_THAT(tokens(bpe, "abab"), ElementsAre("ab", "ab"));
}

TEST(Bpe, EqualsTheDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> known = {"a", "b", "c"};
    Merges merges;
    for (int at = 0; at < 25; ++at) {
      std::pair merge(known[random() % known.size()], known[random() % known.size()]);
      if (std::find(merges.begin(), merges.end(), merge) != merges.end()) continue;
      merges.push_back(merge);
      known.push_back(merge.first + merge.second);
    }
    Bpe bpe = make_bpe(merges);
    WordCache cache;
    // Past 96 bytes the other way of merging is used.
    for (std::size_t length : {0U, 1U, 2U, 3U, 9U, 20U, 95U, 96U, 97U, 150U}) {
      std::string word;
      while (word.size() < length) word += static_cast<char>('a' + random() % 3);
      auto wanted = slowly(merges, word);
      ASSERT_EQ(tokens(bpe, word), wanted) << word;
      std::vector<TokenId> plain, first, again;
      bpe.encode(word, plain);
      bpe.encode(word, cache, first);
      bpe.encode(word, cache, again);
      ASSERT_EQ(first, plain);
      ASSERT_EQ(again, plain);
    }
  }
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  // "abc" is in the vocabulary, but its own merge comes too late for it.
  Merges merges = {{"a", "b"}, {"b", "c"}, {"a", "bc"}};
  EXPECT_THAT(tokens(make_bpe(merges, false), "abc"), ElementsAre("ab", "c"));
  EXPECT_THAT(tokens(make_bpe(merges, true), "abc"), ElementsAre("abc"));
  EXPECT_THAT(tokens(make_bpe(merges, true), "abcx"), ElementsAre("ab", "c", "x"));
}

TEST(Bpe, ReadsBothFormsOfMerges) {
  Json model = testing::tokenizer_json({{"a", "b"}})["model"];
  model["merges"] = Json::array({Json::array({"a", "b"})});
  auto bpe = Bpe::from_json(model, "model");
  ASSERT_TRUE(bpe) << bpe.error().message();
  EXPECT_THAT(tokens(*bpe, "ab"), ElementsAre("ab"));
}

// SmolLM2 lacks 21 bytes: what has no token is dropped, and its neighbours meet.
TEST(Bpe, BytesWithoutATokenAreDropped) {
  Json model = testing::tokenizer_json({{"a", "b"}})["model"];
  model["vocab"].erase("x");
  auto bpe = Bpe::from_json(model, "model");
  ASSERT_TRUE(bpe) << bpe.error().message();
  EXPECT_THAT(tokens(*bpe, "axbxxc"), ElementsAre("ab", "c"));
  EXPECT_THAT(tokens(*bpe, std::string(200, 'x') + "ab"), ElementsAre("ab"));
  EXPECT_THAT(tokens(*bpe, "x"), ElementsAre());
}

// As HF `tokenizers` has it, for symbols without a token.
TEST(Bpe, CharactersBytesAndUnknownOnes) {
  Json model = *parse_json(R"({"type":"BPE","unk_token":"?","byte_fallback":true,
    "vocab":{"?":0,"a":1,"\u00E9":2,"<0xC3>":3,"<0xA8>":4,"a\u00E9":5},"merges":[["a","\u00E9"]]})");
  auto encoded = [&] {
    auto bpe = Bpe::from_json(model, "model", BpeSymbols::kCharacters);
    EXPECT_TRUE(bpe) << bpe.error().message();
    return tokens(*bpe, "a\u00E9\u00E8zza");
  };
  EXPECT_THAT(encoded(), ElementsAre("a\u00E9", "<0xC3>", "<0xA8>", "?", "?", "a"));
  model["fuse_unk"] = true;
  EXPECT_THAT(encoded(), ElementsAre("a\u00E9", "<0xC3>", "<0xA8>", "?", "a"));
  model["byte_fallback"] = false;
  EXPECT_THAT(encoded(), ElementsAre("a\u00E9", "?", "a"));
  model.erase("unk_token");
  EXPECT_THAT(encoded(), ElementsAre("a\u00E9", "a"));
}

TEST(Bpe, RefusesAndNamesTheKey) {
  auto message = [](auto change) {
    Json model = testing::tokenizer_json({{"a", "b"}})["model"];
    change(model);
    auto bpe = Bpe::from_json(model, "model");
    return bpe ? std::string("accepted") : bpe.error().message();
  };
  EXPECT_THAT(message([](Json& m) { m["type"] = "Unigram"; }),
              HasSubstr("model.type: \"Unigram\" is not read"));
  EXPECT_THAT(message([](Json& m) { m["type"] = "WordPiece"; }),
              HasSubstr("model.type: \"WordPiece\" is not read"));
  EXPECT_THAT(message([](Json& m) { m.erase("vocab"); }), HasSubstr("model.vocab: missing"));
  EXPECT_THAT(message([](Json& m) { m.erase("merges"); }), HasSubstr("model.merges: missing"));
  EXPECT_THAT(message([](Json& m) { m["vocab"].erase("a"); }), HasSubstr("model.merges[0]: \"a\""));
  EXPECT_THAT(message([](Json& m) {
                m["vocab"].erase("c");
                m["unk_token"] = "<unk>";
              }),
              HasSubstr("model.unk_token: \"<unk>\""));
  EXPECT_THAT(message([](Json& m) { m["vocab"]["x"] = 1; }),
              HasSubstr("model.vocab: id 1 is given"));
  EXPECT_THAT(message([](Json& m) { m["vocab"]["x"] = -1; }), HasSubstr("model.vocab.x"));
  EXPECT_THAT(message([](Json& m) { m["vocab"]["zz"] = 1 << 30; }), HasSubstr("model.vocab.zz"));
  EXPECT_THAT(message([](Json& m) { m["merges"][0] = "a q"; }),
              HasSubstr("model.merges[0]: \"aq\""));
  EXPECT_THAT(message([](Json& m) { m["merges"][0] = "ab"; }), HasSubstr("model.merges[0]"));
  EXPECT_THAT(message([](Json& m) { m["merges"][0] = 3; }), HasSubstr("model.merges[0]"));
  EXPECT_THAT(message([](Json& m) { m["dropout"] = 0.1; }), HasSubstr("model.dropout"));
  EXPECT_THAT(message([](Json& m) { m["byte_fallback"] = true; }),
              HasSubstr("model.byte_fallback"));
  EXPECT_THAT(message([](Json& m) { m["end_of_word_suffix"] = "</w>"; }),
              HasSubstr("model.end_of_word_suffix"));
}

}  // namespace
}  // namespace kw::lm
