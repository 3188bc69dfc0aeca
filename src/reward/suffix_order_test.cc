// Against sorting the suffixes themselves.
#include "reward/suffix_order.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::reward {
namespace {

using Text = std::vector<std::uint32_t>;

SuffixOrder slow_order(const Text& text) {
  SuffixOrder out;
  out.position.resize(text.size());
  std::iota(out.position.begin(), out.position.end(), 0U);
  auto suffix = [&](std::uint32_t at) { return Text(text.begin() + at, text.end()); };
  std::sort(out.position.begin(), out.position.end(),
            [&](std::uint32_t a, std::uint32_t b) { return suffix(a) < suffix(b); });
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint32_t common = 0;
    if (i > 0) {
      Text a = suffix(out.position[i - 1]), b = suffix(out.position[i]);
      while (common < std::min(a.size(), b.size()) && a[common] == b[common]) ++common;
    }
    out.lcp.push_back(common);
  }
  return out;
}

void expect_order(const Text& text) {
  SuffixOrder fast = suffix_order(text), slow = slow_order(text);
  EXPECT_EQ(fast.position, slow.position);
  EXPECT_EQ(fast.lcp, slow.lcp);
}

TEST(SuffixOrder, SmallTexts) {
  expect_order({});
  expect_order({7});
  expect_order({7, 7});
  expect_order({'b', 'a', 'n', 'a', 'n', 'a'});
  expect_order({0xFFFFFFFF, 0, 0xFFFFFFFF});
}

TEST(SuffixOrder, RandomAndPeriodic) {
  Rng rng(3);
  for (std::uint64_t letters : {1U, 2U, 3U, 200U}) {
    for (std::size_t size = 1; size < 70; size += 3) {
      Text text(size);
      for (auto& symbol : text) symbol = static_cast<std::uint32_t>(rng.below(letters) * 1000);
      expect_order(text);
    }
  }
  Text periodic;
  for (std::uint32_t i = 0; i < 120; ++i) periodic.push_back(i % 5);
  expect_order(periodic);
}

}  // namespace
}  // namespace kw::reward
