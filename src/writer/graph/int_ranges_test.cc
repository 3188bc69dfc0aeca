#include "writer/graph/int_ranges.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "writer/graph/testing/parsed.h"

namespace kw::writer {
namespace {

class Image : public testing::Test {
 protected:
  Image() {
    for (const auto& [name, extent] : {std::pair("n", "N"), {"c", "C"}, {"i", "H"}, {"j", "W"}})
      ranges.loop(name, parsed(extent));
    ranges.loop("k", 3);
    ranges.unbounded("offset");
  }
  IntExpr simple(std::string_view text) { return ranges.simplify(parsed(text)); }
  IntRanges ranges;
};

TEST_F(Image, SplitsWhatWasMerged) {
  EXPECT_EQ(simple("(i * W + j) // W"), parsed("i"));
  EXPECT_EQ(simple("(i * W + j) % W"), parsed("j"));
  EXPECT_EQ(simple("((c * H + i) * W + j) // (H * W)"), parsed("c"));
  EXPECT_EQ(simple("(((c * H + i) * W + j) // W) % H"), parsed("i"));
  EXPECT_EQ(simple("(i * W + j) // (H * W)"), IntExpr(0));
  // Dimensions that are sums and quotients.
  ranges.loop("y", parsed("H - 2"));
  ranges.loop("x", parsed("W // 2"));
  ranges.positive(parsed("H - 2"));
  EXPECT_EQ(simple("(y * (W // 2) + x) // (W // 2)"), parsed("y"));
  EXPECT_EQ(simple("(n * (H - 2) + y) // (H - 2)"), parsed("n"));
  EXPECT_EQ(simple("(n * (H - 2) + y) % (H - 2)"), parsed("y"));
}

TEST_F(Image, DividesByFactors) {
  EXPECT_EQ(simple("(i * W + j) // (4 * W)"), parsed("i // 4"));
  EXPECT_EQ(simple("(i * W + j) % (4 * W)"), parsed("(i % 4) * W + j"));
  EXPECT_EQ(simple("(i // 2) // 3"), parsed("i // 6"));
  EXPECT_EQ(simple("(i % 12) % 4"), parsed("i % 4"));
  EXPECT_EQ(simple("(i % 12) // 4"), parsed("(i // 4) % 3"));
  EXPECT_EQ(simple("(i * 4 + k) // 4"), parsed("i"));
  EXPECT_EQ(simple("(i * 6 + k * 2) // 4"), parsed("(3 * i + k) // 2"));
  EXPECT_EQ(simple("(j + W - 1) % W"), parsed("(W + j - 1) % W"));  // never of a negative number
}

TEST_F(Image, Compares) {
  EXPECT_TRUE(ranges.less(parsed("i"), parsed("H")));
  EXPECT_FALSE(ranges.less(parsed("i + 1"), parsed("H")));
  EXPECT_TRUE(ranges.nonnegative(parsed("H - 1 - i")));
  EXPECT_FALSE(ranges.nonnegative(parsed("i - 1")));
  EXPECT_FALSE(ranges.nonnegative(parsed("offset")));
  EXPECT_TRUE(ranges.less_equal(parsed("i + offset"), parsed("offset + H")));
  // A window within its image.
  ranges.loop("o", parsed("(H - 3) // 2 + 1"));
  EXPECT_TRUE(ranges.less(parsed("2 * o + k"), parsed("H")));
  EXPECT_FALSE(ranges.less(parsed("2 * o + k + 1"), parsed("H")));
  EXPECT_EQ(simple("min(i, H)"), parsed("i"));
  EXPECT_EQ(simple("max(i - H, 0)"), IntExpr(0));
  EXPECT_EQ(simple("max(i - 1, 0)"), parsed("max(i - 1, 0)"));
  EXPECT_TRUE(ranges.less(parsed("min(i + 5, H - 1)"), parsed("H")));
}

TEST_F(Image, SizesHaveLeastValues) {
  EXPECT_FALSE(ranges.nonnegative(parsed("H - 3")));
  ranges.positive(parsed("(H - 3) // 2 + 1"));
  EXPECT_TRUE(ranges.nonnegative(parsed("H - 3")));
  EXPECT_FALSE(ranges.nonnegative(parsed("H - 4")));
}

// Random trees of all operations, evaluated at random values within the ranges: what is simplified
// has the same value, and what is proven holds.
TEST_F(Image, KeepsValues) {
  Rng random(11);
  const std::vector<const char*> sizes = {"N", "C", "H", "W"};
  const std::map<std::string, const char*> loops = {{"n", "N"}, {"c", "C"}, {"i", "H"}, {"j", "W"}};
  int shorter = 0, proven = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<IntExpr> pool;
    for (const char* name : {"N", "C", "H", "W", "n", "c", "i", "j", "k", "offset"})
      pool.push_back(IntExpr::symbol(name));
    for (int number : {1, 2, 3, 4, 6}) pool.emplace_back(number);
    for (int step = 0; step < 8; ++step) {
      const IntExpr x = pool[random.below(pool.size())], y = pool[random.below(pool.size())];
      IntExpr made;
      switch (random.below(8)) {
        case 0:
        case 1:
          made = x + y;
          break;
        case 2:
          made = x - y;
          break;
        case 3:
          made = x * y;
          break;
        case 4:
          made = IntExpr::call(IntFunction::kMin, x, y);
          break;
        case 5:
          made = IntExpr::call(IntFunction::kMax, x, y);
          break;
        default: {
          // Divisors are at least 1.
          const IntExpr divisor =
              pool[random.below(4)] *
              pool[random.below(2) == 0 ? random.below(4) : 10 + random.below(5)];
          made = IntExpr::call(random.below(2) == 0 ? IntFunction::kFloorDiv : IntFunction::kMod, x,
                               divisor);
        }
      }
      if (made.terms() <= 12) pool.push_back(made);
    }
    const IntExpr expr = pool.back(), simple = ranges.simplify(expr);
    shorter += simple == expr ? 0 : 1;
    const bool nonnegative = ranges.nonnegative(expr);
    proven += nonnegative ? 1 : 0;
    for (int values = 0; values < 12; ++values) {
      std::map<std::string, std::int64_t> at;
      for (const char* name : sizes) at[name] = 1 + static_cast<std::int64_t>(random.below(9));
      for (const auto& [name, extent] : loops)
        at[name] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(at[extent])));
      at["k"] = static_cast<std::int64_t>(random.below(3));
      at["offset"] = static_cast<std::int64_t>(random.below(21)) - 10;
      const auto expected = expr.evaluate(at), got = simple.evaluate(at);
      if (!expected) continue;
      ASSERT_TRUE(got) << simple.python();
      ASSERT_EQ(*got, *expected) << expr.python() << " became " << simple.python();
      if (nonnegative) {
        ASSERT_GE(*expected, 0) << expr.python();
      }
    }
  }
  EXPECT_GT(shorter, 200);
  EXPECT_GT(proven, 400);
}

}  // namespace
}  // namespace kw::writer
