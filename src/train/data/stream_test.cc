#include "train/data/stream.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"
#include "os/file.h"

namespace kw::train {
namespace {

using ::testing::HasSubstr;

class StreamTest : public ::testing::Test {
 protected:
  // Rows of two tokens, the first of which is `first`, first + 1, ...
  Source source(const std::string& name, int first, int count, double weight = 1) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{{\"tokens\": [{}, 1]}}\n\n", first + i);  // with an empty line
    return opened(name, text, weight);
  }
  Source opened(const std::string& name, const std::string& text, double weight = 1) {
    const std::filesystem::path path = dir_->path() / name;
    EXPECT_TRUE(os::write_file_atomic(path, text));
    auto rows = RowFile::open(path);
    EXPECT_TRUE(rows);
    return {std::move(*rows), weight};
  }
  template <typename... Sources>
  static std::vector<Source> list(Sources... sources) {
    std::vector<Source> out;
    (out.push_back(std::move(sources)), ...);
    return out;
  }
  Stream stream(std::vector<Source> sources, const StreamSettings& settings) {
    auto made = Stream::make(std::move(sources), *encoder_, settings);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  static std::vector<int> firsts(Stream& stream, int count) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) {
      auto sample = stream.next();
      EXPECT_TRUE(sample) << sample.error().message();
      if (sample) out.push_back(sample->tokens[0]);
    }
    return out;
  }

  Result<os::TempDir> dir_ = os::TempDir::make("kw-stream");
  Result<lm::Tokenizer> tokenizer_ = lm::Tokenizer::from_json(lm::testing::tokenizer_json({}));
  Result<RowEncoder> encoder_ = RowEncoder::make(*tokenizer_, 0);
};

TEST_F(StreamTest, EveryPassHasEachRowOnceInAnotherOrder) {
  Stream one = stream(list(source("a", 100, 20)), {.seed = 3});
  const std::vector<int> all = firsts(one, 40);
  const std::vector<int> first(all.begin(), all.begin() + 20), second(all.begin() + 20, all.end());
  EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), 20);
  EXPECT_EQ(std::set<int>(second.begin(), second.end()).size(), 20);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  Stream other = stream(list(source("a", 100, 20)), {.seed = 4});
  EXPECT_NE(firsts(other, 20), first);
}

TEST_F(StreamTest, GoesOnFromAPosition) {
  auto make = [&] { return stream(list(source("a", 100, 7), source("b", 200, 5)), {.seed = 11}); };
  Stream whole = make();
  firsts(whole, 17);
  const Json stored = to_json(whole.position());
  const std::vector<int> want = firsts(whole, 30);
  Stream resumed = make();
  resumed.seek(*stream_position_from_json(stored, 2));
  EXPECT_EQ(firsts(resumed, 30), want);
  EXPECT_FALSE(stream_position_from_json(stored, 3));
}

TEST_F(StreamTest, SourcesComeByTheirWeights) {
  Stream mixed = stream(list(source("a", 100, 7, 3), source("b", 200, 5, 1)), {.seed = 1});
  const std::vector<int> all = firsts(mixed, 2000);
  const auto from_a = std::count_if(all.begin(), all.end(), [](int one) { return one < 200; });
  EXPECT_NEAR(static_cast<double>(from_a), 1500, 80);
}

TEST_F(StreamTest, FileOrderWithoutShuffling) {
  Stream plain = stream(list(source("a", 100, 3)), {.shuffle = false});
  EXPECT_EQ(firsts(plain, 5), (std::vector<int>{100, 101, 102, 100, 101}));
}

TEST_F(StreamTest, LongAndEmptySamplesAreLeftOut) {
  Stream some =
      stream(list(opened("a",
                         "{\"tokens\": [1, 2, 3, 4]}\n{\"tokens\": [5]}\n"
                         "{\"tokens\": [6, 7], \"weights\": [1, 0]}\n{\"tokens\": [8, 9]}\n")),
             {.shuffle = false, .max_tokens = 3});
  EXPECT_EQ(firsts(some, 2), (std::vector<int>{8, 8}));
  EXPECT_EQ(some.position().too_long, 2);
  Stream none = stream(list(opened("b", "{\"tokens\": [5]}\n")), {});
  EXPECT_FALSE(none.next());
}

TEST_F(StreamTest, WrongRowsAreNamed) {
  Stream bad = stream(list(opened("a", "\n{\"tokens\": 5}\n")), {});
  const auto sample = bad.next();
  ASSERT_FALSE(sample);
  EXPECT_THAT(sample.error().message(), HasSubstr("/a:2: tokens: expected a list"));
  EXPECT_FALSE(RowFile::open(dir_->path() / "missing"));
  ASSERT_TRUE(os::write_file_atomic(dir_->path() / "blank", " \n"));
  EXPECT_FALSE(RowFile::open(dir_->path() / "blank"));
}

}  // namespace
}  // namespace kw::train
