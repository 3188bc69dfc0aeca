#include "train/data/step_drawer.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"
#include "os/file.h"

namespace kw::train {
namespace {

using ::testing::HasSubstr;

class StepDrawerTest : public ::testing::Test {
 protected:
  // Rows of 2 to 9 tokens, all of them `token`.
  Stream stream(int token) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      std::string list = std::to_string(token);
      for (int j = 0; j <= i * 7 % 8; ++j) list += "," + std::to_string(token);
      text += fmt::format("{{\"tokens\": [{}]}}\n", list);
    }
    const std::filesystem::path path = dir_->path() / fmt::format("{}.jsonl", token);
    EXPECT_TRUE(os::write_file_atomic(path, text));
    auto rows = RowFile::open(path);
    EXPECT_TRUE(rows);
    std::vector<Source> sources;
    sources.push_back({std::move(*rows), 1});
    auto made = Stream::make(std::move(sources), *encoder_, {.seed = 3});
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  static StepDrawer drawer_of(Stream stream, std::int64_t step_tokens) {
    return StepDrawer(std::move(stream), {step_tokens, 12, 100});
  }
  static std::size_t samples_of(const DrawnStep& step) {
    std::size_t out = 0;
    for (const PackedSamples& one : step.micro_batches) out += one.lengths.size();
    return out;
  }
  static std::int64_t tokens_of(const DrawnStep& step) {
    std::int64_t out = 0;
    for (const PackedSamples& one : step.micro_batches) out += std::ssize(one.tokens);
    return out;
  }
  static void expect_equal(const std::vector<PackedSamples>& got,
                           const std::vector<PackedSamples>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].tokens, want[i].tokens);
      EXPECT_EQ(got[i].targets, want[i].targets);
      EXPECT_EQ(got[i].weights, want[i].weights);
      EXPECT_EQ(got[i].lengths, want[i].lengths);
    }
  }

  Result<os::TempDir> dir_ = os::TempDir::make("kw-drawer");
  Result<lm::Tokenizer> tokenizer_ = lm::Tokenizer::from_json(lm::testing::tokenizer_json({}));
  Result<RowEncoder> encoder_ = RowEncoder::make(*tokenizer_, 0);
};

// A rank that waits for another one's micro-batches has to know how many there will be.
TEST_F(StepDrawerTest, RanksKnowHowManyMicroBatchesTheOthersHave) {
  StepDrawer first(stream(5), {12, 8, 100, 0, 3}), second(stream(5), {12, 8, 100, 1, 3}),
      third(stream(5), {12, 8, 100, 2, 3});
  bool do_ranks_differ = false;
  for (int i = 0; i < 20; ++i) {
    std::vector<std::size_t> counts, rounds;
    for (StepDrawer* one : {&first, &second, &third}) {
      const auto step = one->next();
      ASSERT_TRUE(step);
      counts.push_back(step->micro_batches.size());
      rounds.push_back(step->rounds);
    }
    EXPECT_EQ(rounds, std::vector(3, *std::ranges::max_element(counts)));
    do_ranks_differ = do_ranks_differ || *std::ranges::min_element(counts) < rounds[0];
  }
  EXPECT_TRUE(do_ranks_differ);
  StepDrawer alone = drawer_of(stream(5), 40);
  const auto step = alone.next();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->rounds, step->micro_batches.size());
}

TEST_F(StepDrawerTest, StepsAreTheStreamCutAtTheirTokens) {
  Stream plain = stream(5);
  StepDrawer drawer = drawer_of(stream(5), 20);
  for (int i = 0; i < 30; ++i) {
    const auto step = drawer.next();
    ASSERT_TRUE(step);
    EXPECT_LE(tokens_of(*step), 20);
    EXPECT_GT(tokens_of(*step), 20 - 8) << "the longest sample would have fitted";
    EXPECT_EQ(step->weight, static_cast<double>(tokens_of(*step)));
    std::vector<Sample> samples;
    for (std::size_t s = 0; s < samples_of(*step); ++s) samples.push_back(*plain.next());
    expect_equal(step->micro_batches, pack(samples, 12));
    EXPECT_EQ(step->position, plain.position()) << "of the samples given, not of those ahead";
  }
}

TEST_F(StepDrawerTest, GoesOnFromAPosition) {
  StepDrawer drawer = drawer_of(stream(5), 20);
  StreamPosition position;
  for (int i = 0; i < 7; ++i) position = drawer.next()->position;
  StepDrawer resumed = drawer_of(stream(5), 20);
  resumed.seek(position);
  for (int i = 0; i < 10; ++i)
    expect_equal(resumed.next()->micro_batches, drawer.next()->micro_batches);
}

TEST_F(StepDrawerTest, ALongSampleIsAStepOfItsOwn) {
  StepDrawer drawer = drawer_of(stream(5), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(samples_of(*drawer.next()), 1U);
}

TEST_F(StepDrawerTest, RefusesTokensOfAnotherVocabulary) {
  StepDrawer drawer = drawer_of(stream(100), 20);
  const auto step = drawer.next();
  ASSERT_FALSE(step);
  EXPECT_THAT(step.error().message(), HasSubstr("token 100 is not one of the model's 100"));
}

}  // namespace
}  // namespace kw::train
