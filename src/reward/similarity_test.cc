// Against difflib's recursion written down as it is; tests/reward compares with Python itself.
#include "reward/similarity.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::reward {
namespace {

using Text = std::vector<std::uint32_t>;

struct Block {
  std::size_t a, b, size;
};

Block longest(const Text& a, const Text& b, Block from, Block to) {
  Block best{from.a, from.b, 0};
  for (std::size_t i = from.a; i < to.a; ++i) {
    for (std::size_t j = from.b; j < to.b; ++j) {
      std::size_t size = 0;
      while (i + size < to.a && j + size < to.b && a[i + size] == b[j + size]) ++size;
      if (size > best.size) best = {i, j, size};
    }
  }
  return best;
}

std::uint64_t slow_matches(const Text& a, const Text& b, Block from, Block to) {
  Block best = longest(a, b, from, to);
  if (best.size == 0) return 0;
  return best.size + slow_matches(a, b, from, {best.a, best.b, 0}) +
         slow_matches(a, b, {best.a + best.size, best.b + best.size, 0}, to);
}

void expect_equal(const Text& a, const Text& b) {
  EXPECT_EQ(matching_symbols(a, b), slow_matches(a, b, {}, {a.size(), b.size(), 0}))
      << testing::PrintToString(a) << testing::PrintToString(b);
}

Text text_of(std::string_view letters) {
  return {letters.begin(), letters.end()};
}

TEST(Similarity, PythonsValues) {
  EXPECT_EQ(similarity_ratio("abcd", "bcde"), 0.75);
  EXPECT_EQ(similarity_ratio("tide", "diet"), 0.25);
  EXPECT_EQ(similarity_ratio("diet", "tide"), 0.5) << "not symmetric";
  EXPECT_EQ(similarity_ratio("", ""), 1);
  EXPECT_EQ(similarity_ratio("", "a"), 0);
  EXPECT_EQ(similarity_ratio("\xC3\xA9", "\xC3\xA8"), 0) << "code points, not bytes";
  EXPECT_EQ(similarity_ratio("\xFF", "\xFF"), 1);
  EXPECT_EQ(similarity_ratio("\xFF", "\xFE"), 0);
}

TEST(Similarity, RewardNeedsBothSides) {
  EXPECT_EQ(similarity_reward("", ""), 0);
  EXPECT_EQ(similarity_reward("a", ""), 0);
  EXPECT_EQ(similarity_reward("", "a"), 0);
  EXPECT_EQ(similarity_reward("ab", "ab"), 1);
}

TEST(Similarity, EarliestInAThenInB) {
  expect_equal(text_of("xaby"), text_of("abxyab"));
  expect_equal(text_of("ab1ab2"), text_of("2ab1"));
  expect_equal(text_of("abab"), text_of("bababa"));
}

TEST(Similarity, EveryPairOfShortTexts) {
  auto text = [](unsigned bits, std::size_t size) {
    Text out;
    for (std::size_t i = 0; i < size; ++i) out.push_back(bits >> i & 1U);
    return out;
  };
  for (std::size_t n = 1; n <= 6; ++n)
    for (std::size_t m = 1; m <= 6; ++m)
      for (unsigned a = 0; a < 1U << n; ++a)
        for (unsigned b = 0; b < 1U << m; ++b) expect_equal(text(a, n), text(b, m));
}

TEST(Similarity, RandomTexts) {
  Rng rng(5);
  auto text = [&](std::uint64_t letters) {
    Text out(1 + rng.below(60));
    for (auto& symbol : out) symbol = static_cast<std::uint32_t>(rng.below(letters));
    return out;
  };
  for (std::uint64_t letters : {1U, 2U, 3U, 5U, 20U})
    for (int i = 0; i < 200; ++i) expect_equal(text(letters), text(letters));
}

TEST(Similarity, DeepChainsOfRanges) {
  Text a, b;
  for (std::uint32_t length = 1; length < 15; ++length) {
    for (std::uint32_t i = 0; i < length; ++i) a.push_back(length), b.push_back(length);
    a.push_back(100), b.push_back(101);
  }
  expect_equal(a, b);
  Text permutation, spread;
  for (std::uint32_t i = 0; i < 60; ++i) {
    permutation.push_back(i);
    spread.push_back(i);
    spread.push_back(1000);
  }
  expect_equal(permutation, spread);
  expect_equal(spread, permutation);
}

}  // namespace
}  // namespace kw::reward
