#include "writer/graph/int_expr.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "writer/graph/testing/parsed.h"

namespace kw::writer {
namespace {

std::int64_t value(const IntExpr& expr, const std::map<std::string, std::int64_t>& values) {
  Result<std::int64_t> out = expr.evaluate(values);
  EXPECT_TRUE(out) << expr.python() << ": " << out.error().message();
  return out ? *out : -1;
}

TEST(IntExpr, EqualPolynomialsAreOne) {
  EXPECT_EQ(parsed("(s0 - s1 + 3)*(s0 - s1 + 3)"),
            parsed("s0**2 + s1**2 - 2*s0*s1 + 6*s0 - 6*s1 + 9"));
  EXPECT_EQ(parsed("a + b - a"), parsed("b"));
  EXPECT_EQ(parsed("2*(a//3) - (a//3)"), parsed("FloorDiv(a, 3)"));
  EXPECT_FALSE(parsed("a//3") == parsed("a//4"));
  EXPECT_EQ(parsed("a - a").constant(), 0);
}

TEST(IntExpr, DivisionIsSimplifiedWhereItIsExact) {
  EXPECT_EQ(parsed("(6*a*b + 4*b) // (2*b)"), parsed("3*a + 2"));
  EXPECT_EQ(parsed("(6*a*b + 4*b) % (2*b)").constant(), 0);
  EXPECT_EQ(parsed("a // 1"), parsed("a"));
  EXPECT_EQ(parsed("max(a, b)"), parsed("Max(b, a)"));
  EXPECT_EQ(parsed("min(a, a)"), parsed("a"));
  EXPECT_EQ(parsed("-7 // 2").constant(), -4);
  EXPECT_EQ(parsed("-7 % 2").constant(), 1);
}

TEST(IntExpr, PrintsWhatItReads) {
  EXPECT_EQ(parsed("s66 - s96 + 3").python(), "s66 - s96 + 3");
  EXPECT_EQ(parsed("-2*a + 1").python(), "1 - 2 * a");
  EXPECT_EQ(parsed("(a + 1)//2").python(), "((a + 1) // (2))");
  EXPECT_EQ(parsed("(a + 1)//2").cpp(), "((a + 1) / 2)");
  EXPECT_EQ(parsed("max(1, a, b*2)").cpp(), "std::max<int64_t>(std::max<int64_t>(1, a), 2 * b)");
  EXPECT_EQ(IntExpr(0).python(), "0");
  for (const char* text : {"a*b*b - 3*(a % 5)", "((x0 + 2*y) // (3)) * z - 4", "max(a - b, 1)"})
    EXPECT_EQ(parsed(parsed(text).python()), parsed(text)) << text;
}

TEST(IntExpr, CoefficientOfALoopVariable) {
  const IntExpr index = parsed("i*h*w + (j + 2)*w + k");
  EXPECT_EQ(index.coefficient("i"), parsed("h*w"));
  EXPECT_EQ(index.coefficient("k"), IntExpr(1));
  EXPECT_EQ(index.coefficient("q"), IntExpr(0));
  EXPECT_EQ(parsed("i*i").coefficient("i"), std::nullopt);
  EXPECT_EQ(parsed("(i + 1)//2").coefficient("i"), std::nullopt);
}

TEST(IntExpr, SubstituteAndEvaluateAgree) {
  const IntExpr expr = parsed("((n + 2*p - k) // s + 1) * c - max(n, k) % 7");
  const std::map<std::string, std::int64_t> values = {
      {"n", 31}, {"p", 1}, {"k", 3}, {"s", 2}, {"c", 5}};
  std::map<std::string, IntExpr> numbers;
  for (const auto& [name, number] : values) numbers.emplace(name, number);
  EXPECT_EQ(value(expr, values), ((31 + 2 - 3) / 2 + 1) * 5 - 31 % 7);
  EXPECT_EQ(expr.substitute(numbers).constant(), value(expr, values));
  EXPECT_EQ(expr.symbols(), (std::set<std::string>{"c", "k", "n", "p", "s"}));
}

// Random trees against arithmetic on the numbers themselves: no rule of the normal form may change
// a value.
TEST(IntExpr, NormalFormKeepsValues) {
  Rng random(7);
  for (int round = 0; round < 2000; ++round) {
    std::map<std::string, std::int64_t> values;
    std::vector<std::pair<IntExpr, std::int64_t>> pool;
    for (const char* name : {"a", "b", "c"}) {
      values[name] = static_cast<std::int64_t>(random.next() % 19) - 9;
      pool.emplace_back(IntExpr::symbol(name), values[name]);
    }
    pool.emplace_back(IntExpr(static_cast<std::int64_t>(random.next() % 7) - 3), 0);
    pool.back().second = *pool.back().first.constant();
    for (int step = 0; step < 6; ++step) {
      const auto& [x, x_value] = pool[random.next() % pool.size()];
      const auto& [y, y_value] = pool[random.next() % pool.size()];
      const std::int64_t quotient =
          y_value == 0 ? 0
                       : x_value / y_value -
                             (x_value % y_value != 0 && (x_value < 0) != (y_value < 0) ? 1 : 0);
      std::pair<IntExpr, std::int64_t> made;
      switch (random.next() % 7) {
        case 0:
          made = {x + y, x_value + y_value};
          break;
        case 1:
          made = {x - y, x_value - y_value};
          break;
        case 2:
          made = {x * y, x_value * y_value};
          break;
        case 3:
          made = {IntExpr::call(IntFunction::kMin, x, y), std::min(x_value, y_value)};
          break;
        case 4:
          made = {IntExpr::call(IntFunction::kMax, x, y), std::max(x_value, y_value)};
          break;
        case 5:
          if (y_value == 0) continue;
          made = {IntExpr::call(IntFunction::kFloorDiv, x, y), quotient};
          break;
        default:
          if (y_value == 0) continue;
          made = {IntExpr::call(IntFunction::kMod, x, y), x_value - quotient * y_value};
      }
      if (std::abs(made.second) > 100000 || made.first.terms() > 16) continue;
      pool.push_back(made);
    }
    for (const auto& [expr, expected] : pool) {
      ASSERT_EQ(value(expr, values), expected) << expr.python();
      ASSERT_EQ(value(parsed(expr.python()), values), expected) << expr.python();
    }
  }
}

TEST(IntExpr, BadTextIsRefusedWithItsColumn) {
  for (const auto& [text, message] : std::map<std::string, std::string>{
           {"", "column 1: the expression ends too early"},
           {"a +", "column 4: the expression ends too early"},
           {"a b", "column 3: unexpected \"b\""},
           {"a // 0", "column 7: a division by 0"},
           {"f(a)", "column 3: unknown function f"},
           {"a ** 9", "column 7: a power over 8"},
           {"99999999999999999999", "column 1: a number over 64 bits"},
           {"(a", "column 3: the expression ends too early"},
           {"Mod(a, b, c)", "column 10: unexpected \" \""}}) {
    Result<IntExpr> out = IntExpr::parse(text);
    ASSERT_FALSE(out) << text;
    EXPECT_EQ(out.error().message(), message) << text;
  }
  EXPECT_FALSE(IntExpr::parse(fmt::format("{0:(>100}a{0:)>100}", "")));
  EXPECT_FALSE(IntExpr::parse("(a+b+c+d)**8 * (a+b+c+d)**8"));
  EXPECT_EQ(parsed("a*4611686018427387904*4"), IntExpr());  // wraps
  EXPECT_FALSE(parsed("a * a").evaluate({{"a", std::int64_t{1} << 40}}));
  EXPECT_FALSE(parsed("a // b").evaluate({{"a", 1}, {"b", 0}}));
  EXPECT_FALSE(parsed("a").evaluate({}));
}

}  // namespace
}  // namespace kw::writer
