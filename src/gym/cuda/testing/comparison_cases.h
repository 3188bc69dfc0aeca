// For tests: outputs that differ in every way that counts, compared by the kernels and by the host.
// KW_COMPARISON_TESTS makes the tests for a fixture that has a source with kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "gym/cuda/device_comparer.h"
#include "tensor/half.h"

namespace kw::gym::testing {

class ComparisonCases : public ::testing::Test {
 protected:
  using DType = tensor::DType;
  using Shape = std::vector<std::int64_t>;
  static constexpr DType kReal[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                    DType::kBFloat16};

  virtual DeviceSource& source() = 0;

  static BaselineRule within(double relative, double slice) {
    BaselineRule rule;
    rule.learned.relative = relative;
    rule.learned.slice = slice;
    rule.learned.least = 1e-30;
    for (std::size_t k = 30; k < 40; ++k)
      rule.learned.by_magnitude.at(k) = slice * static_cast<double>(k - 29);
    return rule;
  }

  static std::vector<std::byte> stored(DType dtype, const std::vector<float>& values) {
    std::vector<std::byte> out(values.size() * tensor::size_of(dtype));
    tensor::store(dtype, values, 0, out);
    return out;
  }

  std::unique_ptr<DeviceBytes> placed(std::span<const std::byte> bytes) {
    auto memory = source().make(std::max<std::size_t>(bytes.size(), 1)).value();
    EXPECT_TRUE(memory->upload(0, bytes));
    return memory;
  }

  // Compares by kernels and on the host; the text says what differs.
  std::string difference(DType dtype, const Shape& shape, std::span<const std::byte> a,
                         std::span<const std::byte> b, const BaselineRule& rule) {
    auto ours = placed(a), theirs = placed(b);
    DeviceReports reports(source());
    DeviceComparison comparison(source(), reports);
    const DevicePair pair{ours->address(), theirs->address(), dtype, shape};
    const TensorView candidate{dtype, shape, a}, baseline{dtype, shape, b};
    auto later = comparison.compare(pair, rule);
    if (!later) return later.error().message();
    auto found = later->get();
    if (!found) return found.error().message();
    const CheckReport host =
        rule.is_exact ? check_exact(candidate, baseline)
                      : check_against_baseline(candidate, baseline, rule.learned, rule.sides);
    std::string out = differences(*found, host);
    // Up to 64 elements, each of them wrong.
    if (found->sample.empty() != (host.wrong == 0)) out += "no sample; ";
    for (std::uint64_t i : found->sample) {
      const std::size_t size = tensor::size_of(dtype);
      if (std::ranges::equal(a.subspan(i * size, size), b.subspan(i * size, size)) &&
          !(dtype == DType::kBool && std::to_integer<int>(a[i]) > 1) && !tensor::is_floating(dtype))
        out += fmt::format("element {} is right; ", i);
    }
    if (!DeviceComparison::has_rules(dtype)) return out;
    auto rules = comparison.by_rules(pair);
    if (!rules) return out + rules.error().message();
    return out + differences(*rules, {kernelbench_compare(candidate, baseline).close,
                                      flashinfer_compare(candidate, baseline)});
  }

  static std::string differences(const CheckReport& a, const CheckReport& b) {
    std::string out;
    const auto count = [&](const char* name, std::uint64_t x, std::uint64_t y) {
      if (x != y) out += fmt::format("{} {} and {}; ", name, x, y);
    };
    const auto near = [&](const char* name, double x, double y) {
      if (x != y && !(std::abs(x - y) <= 1e-5 * std::abs(y)))
        out += fmt::format("{} {} and {}; ", name, x, y);
    };
    count("passed", a.passed, b.passed);
    count("elements", a.elements, b.elements);
    count("wrong", a.wrong, b.wrong);
    count("nan", a.nan, b.nan);
    count("infinite", a.infinite, b.infinite);
    near("max_absolute", a.max_absolute, b.max_absolute);
    near("max_relative", a.max_relative, b.max_relative);
    near("max_of_budget", a.max_of_budget, b.max_of_budget);
    return out;
  }
  static std::string differences(const RulesResult& a, const RulesResult& b) {
    const auto same = [](double x, double y) { return x == y || (x != x && y != y); };
    const bool is_same = a.is_close == b.is_close && a.flashinfer.status == b.flashinfer.status &&
                         same(a.flashinfer.matched_ratio, b.flashinfer.matched_ratio) &&
                         same(a.flashinfer.max_absolute_error, b.flashinfer.max_absolute_error) &&
                         same(a.flashinfer.max_relative_error, b.flashinfer.max_relative_error);
    return is_same ? "" : "the rules differ; ";
  }

  // Expected values, and a candidate that is off by up to `off` budgets, with a few elements of
  // every special kind.
  void real_case(DType dtype, const Shape& shape, double off, bool specials, std::uint64_t seed) {
    Rng rng(seed);
    const auto n = static_cast<std::size_t>(elements_of(shape));
    const double eps = std::max(tensor::epsilon_of(dtype), 0x1p-23);
    const BaselineRule rule = within(2 * eps, 4 * eps);
    std::vector<float> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double scale = std::ldexp(1.0, static_cast<int>(rng.below(30)) - 20);
      b[i] = static_cast<float>(rng.normal() * scale);
      a[i] = static_cast<float>(b[i] * (1 + off * eps * rng.normal()) + off * eps * rng.normal());
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float special[] = {0.0F,
                             -0.0F,
                             kInfinity,
                             -kInfinity,
                             1e-42F,
                             -1e-42F,
                             std::numeric_limits<float>::quiet_NaN(),
                             60000.0F,
                             3e38F,
                             1e-20F};
    for (std::size_t i = 0; specials && i < 40; ++i) {
      a[rng.below(n)] = special[rng.below(10)];
      b[rng.below(n)] = special[rng.below(10)];
      const std::size_t both = rng.below(n);
      a[both] = b[both] = special[rng.below(10)];
    }
    BaselineRule exact = rule;
    exact.is_exact = true;
    for (const BaselineRule& one : {rule, exact})
      EXPECT_EQ(difference(dtype, shape, stored(dtype, a), stored(dtype, b), one), "")
          << tensor::to_string(dtype) << ", rows of " << shape.back() << ", seed " << seed
          << (one.is_exact ? ", exact" : "");
  }

  void whole_case(DType dtype, const Shape& shape, bool equal, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<std::byte> a(static_cast<std::size_t>(elements_of(shape)) * tensor::size_of(dtype));
    for (std::byte& byte : a)
      byte = static_cast<std::byte>(rng.below(dtype == DType::kBool ? 2 : 256));
    std::vector<std::byte> b = a;
    for (int i = 0; !equal && i < 20; ++i)
      b[rng.below(b.size())] ^= static_cast<std::byte>(1 + rng.below(255));
    BaselineRule rule;
    rule.is_exact = true;
    EXPECT_EQ(difference(dtype, shape, a, b, rule), "") << tensor::to_string(dtype);
    EXPECT_EQ(difference(dtype, shape, b, a, rule), "") << tensor::to_string(dtype);
  }
};

}  // namespace kw::gym::testing

// NOLINTBEGIN(bugprone-macro-parentheses)
#define KW_COMPARISON_TESTS(Fixture)                                                               \
  TEST_F(Fixture, RealNumbersWithinAndBeyondTheirBudgets) {                                        \
    std::uint64_t seed = 1;                                                                        \
    for (DType dtype : kReal)                                                                      \
      for (const Shape& shape :                                                                    \
           {Shape{1}, Shape{31}, Shape{7, 100}, Shape{3, 8195}, Shape{5, 4, 3}})                   \
        for (double off : {0.0, 0.5, 40.0}) real_case(dtype, shape, off, false, ++seed);           \
  }                                                                                                \
  TEST_F(Fixture, ZerosInfinitiesAndNan) {                                                         \
    std::uint64_t seed = 100;                                                                      \
    for (DType dtype : kReal)                                                                      \
      for (const Shape& shape : {Shape{31}, Shape{60, 33}})                                        \
        for (int i = 0; i < 6; ++i) real_case(dtype, shape, i % 2 == 0 ? 0.0 : 0.5, true, ++seed); \
  }                                                                                                \
  TEST_F(Fixture, RowsWhoseMeanIsThatOfEveryEighthChunk) {                                         \
    for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {                                      \
      real_case(dtype, {(1 << 18) + 5000}, 0.5, false, 7);                                         \
      real_case(dtype, {(1 << 18) + 5000}, 40, true, 8);                                           \
    }                                                                                              \
  }                                                                                                \
  TEST_F(Fixture, WholeNumbersAndBooleans) {                                                       \
    std::uint64_t seed = 200;                                                                      \
    for (DType dtype :                                                                             \
         {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8, DType::kBool}) \
      for (bool equal : {true, false}) whole_case(dtype, {40, 37}, equal, ++seed);                 \
  }
// NOLINTEND(bugprone-macro-parentheses)
