// Each kind of hard values, and where blocks of them lie.
#include "gym/inputs/hard.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "gym/inputs/fill.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using task::InputDomain;
using tensor::DType;

constexpr std::int64_t kMadeRows = 64, kMadeColumns = 256;

std::vector<std::byte> ordinary(DType dtype, const std::vector<std::int64_t>& shape) {
  std::size_t elements = 1;
  for (std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
  std::vector<std::byte> bytes(elements * tensor::size_of(dtype));
  EXPECT_TRUE(fill_input(dtype, shape, {}, 5, bytes));
  return bytes;
}

std::vector<double> values_of(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / tensor::size_of(dtype));
  tensor::load(dtype, bytes, 0, values);
  return values;
}

std::vector<std::int32_t> whole_of(const std::vector<std::byte>& bytes) {
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<double> made(HardKind kind, DType dtype = DType::kFloat32) {
  const std::vector<std::int64_t> shape = {kMadeRows, kMadeColumns};
  auto bytes = ordinary(dtype, shape);
  make_hard(dtype, shape, InputDomain::kAny, {{kind}, 0}, {1, 2}, bytes);
  return values_of(dtype, bytes);
}

std::span<const double> row(const std::vector<double>& values, std::int64_t r) {
  return std::span(values).subspan(static_cast<std::size_t>(r * kMadeColumns),
                                   static_cast<std::size_t>(kMadeColumns));
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double mean_square(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v * v;
  return sum / static_cast<double>(values.size());
}

TEST(HardInputs, SpikesAreOneLargeValueARow) {
  const auto values = made(HardKind::kSpikes);
  for (std::int64_t r = 0; r < kMadeRows; ++r)
    EXPECT_LE(std::ranges::count_if(row(values, r), [](double v) { return std::abs(v) > 6; }), 1);
  EXPECT_GT(std::ranges::count_if(values, [](double v) { return std::abs(v) > 100; }),
            kMadeRows / 2);
}

TEST(HardInputs, OneHotRowsHaveOneValue) {
  const auto values = made(HardKind::kOneHot);
  for (std::int64_t r = 0; r < kMadeRows; ++r)
    EXPECT_EQ(std::ranges::count(row(values, r), 0.0), kMadeColumns - 1);
}

TEST(HardInputs, MeansAndScales) {
  EXPECT_NEAR(mean(made(HardKind::kLargeMean)), 100, 5);
  EXPECT_NEAR(std::sqrt(mean_square(made(HardKind::kScaledUp))), 100, 5);
  EXPECT_NEAR(std::sqrt(mean_square(made(HardKind::kScaledDown))), 0.01, 5e-4);
  EXPECT_TRUE(std::ranges::all_of(made(HardKind::kNegative), [](double v) { return v <= 0; }));
}

TEST(HardInputs, RowsOfFewValues) {
  const auto constant = made(HardKind::kConstantRows);
  const auto ties = made(HardKind::kTies);
  std::set<double> constants;
  for (std::int64_t r = 0; r < kMadeRows; ++r) {
    EXPECT_EQ(std::ranges::count(row(constant, r), row(constant, r)[0]), kMadeColumns);
    constants.insert(row(constant, r)[0]);
    EXPECT_LE(std::set<double>(row(ties, r).begin(), row(ties, r).end()).size(), 4U);
  }
  EXPECT_GT(constants.size(), static_cast<std::size_t>(kMadeRows / 2));
}

TEST(HardInputs, SortedRowsAscendOrDescend) {
  const auto values = made(HardKind::kSorted);
  std::int64_t ascending = 0;
  for (std::int64_t r = 0; r < kMadeRows; ++r) {
    const auto one = row(values, r);
    const bool up = std::ranges::is_sorted(one);
    EXPECT_TRUE(up || std::ranges::is_sorted(one, std::greater{}));
    ascending += up ? 1 : 0;
  }
  EXPECT_GT(ascending, 0);
  EXPECT_LT(ascending, kMadeRows);
}

TEST(HardInputs, SmallIntegersAreMultiplesOfAPowerOfTwo) {
  const auto values = made(HardKind::kSmallIntegers);
  EXPECT_TRUE(std::ranges::all_of(values, [](double v) { return v * 4 == std::round(v * 4); }));
  EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 4U);
}

TEST(HardInputs, ValuesOfNarrowDtypesStayFinite) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3Fn}) {
    for (HardKind kind : kAllHardKinds) {
      for (double v : made(kind, dtype)) ASSERT_TRUE(std::isfinite(v)) << to_string(kind);
    }
  }
}

TEST(HardInputs, IndicesStayAmongTheirOwn) {
  const std::vector<std::int64_t> shape = {kMadeRows, kMadeColumns};
  const auto before = whole_of(ordinary(DType::kInt32, shape));
  auto bytes = ordinary(DType::kInt32, shape);
  make_hard(DType::kInt32, shape, InputDomain::kAny, {{HardKind::kIndices}, 0}, {1, 2}, bytes);
  const auto after = whole_of(bytes);
  EXPECT_NE(before, after);
  const std::set<std::int32_t> known(before.begin(), before.end());
  EXPECT_TRUE(std::ranges::all_of(after, [&](std::int32_t v) { return known.contains(v); }));
}

TEST(HardInputs, DomainsForbidValues) {
  const std::vector<std::int64_t> shape = {kMadeRows, kMadeColumns};
  const task::InputPolicy from_one_to_two{task::Distribution::kUniform, 1.0, 2.0, {}};
  for (HardKind kind : kAllHardKinds) {
    std::vector<std::byte> bytes(kMadeRows * kMadeColumns * sizeof(float));
    ASSERT_TRUE(fill_input(DType::kFloat32, shape, from_one_to_two, 5, bytes));
    auto own = bytes, positive = bytes, fixed = bytes;
    make_hard(DType::kFloat32, shape, InputDomain::kOwn, {{kind}, 0}, {1, 2}, own);
    make_hard(DType::kFloat32, shape, InputDomain::kPositive, {{kind}, 0}, {1, 2}, positive);
    make_hard(DType::kFloat32, shape, InputDomain::kFixed, {{kind}, 0}, {1, 2}, fixed);
    for (double v : values_of(DType::kFloat32, own)) ASSERT_TRUE(v >= 1 && v < 2);
    for (double v : values_of(DType::kFloat32, positive)) ASSERT_GT(v, 0) << to_string(kind);
    EXPECT_EQ(fixed, bytes);
    EXPECT_EQ(own != bytes, is_possible(kind, DType::kFloat32, InputDomain::kOwn));
    EXPECT_EQ(positive != bytes, is_possible(kind, DType::kFloat32, InputDomain::kPositive));
  }
}

// Blocks along an axis: negative ones beside constant ones.
std::map<bool, int> constant_parts(std::size_t axis) {
  const std::vector<std::int64_t> shape = {8, 8, 32};
  auto bytes = ordinary(DType::kFloat32, shape);
  make_hard(DType::kFloat32, shape, InputDomain::kAny,
            {{HardKind::kScaledUp, HardKind::kConstantRows}, axis}, {7, 2}, bytes);
  const auto values = values_of(DType::kFloat32, bytes);
  std::map<bool, int> parts;
  for (std::size_t i = 0; i < 8; ++i) {
    // The first row, or the first elements of a row, at coordinate i of the axis.
    const std::size_t first = axis == 0 ? i * 8 * 32 : axis == 1 ? i * 32 : i * 4;
    parts[values[first] == values[first + 1] && values[first] == values[first + 2]] += 1;
  }
  return parts;
}

TEST(HardInputs, AMixHasBlocksOfEachKindAlongItsAxis) {
  for (std::size_t axis : {0U, 1U, 2U}) {
    const auto parts = constant_parts(axis);
    EXPECT_EQ(parts.size(), 2U) << axis;
  }
}

TEST(HardInputs, TheSameSeedsGiveTheSameBytes) {
  const std::vector<std::int64_t> shape = {300, 1000};
  const HardMix mix{{kAllHardKinds.begin(), kAllHardKinds.end()}, 0};
  auto first = ordinary(DType::kFloat32, shape), again = first, other = first;
  make_hard(DType::kFloat32, shape, InputDomain::kAny, mix, {1, 2}, first);
  make_hard(DType::kFloat32, shape, InputDomain::kAny, mix, {1, 2}, again);
  make_hard(DType::kFloat32, shape, InputDomain::kAny, mix, {1, 3}, other);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

// Values that are changed where they lie, and values that are not aligned for that.
TEST(HardInputs, PlacesInMemoryDoNotMatter) {
  const std::vector<std::int64_t> shape = {30, 1000};
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
    for (HardKind kind : kAllHardKinds) {
      auto aligned = ordinary(dtype, shape);
      std::vector<std::byte> moved(aligned.size() + 1);
      std::ranges::copy(aligned, moved.begin() + 1);
      make_hard(dtype, shape, InputDomain::kAny, {{kind}, 0}, {1, 2}, aligned);
      make_hard(dtype, shape, InputDomain::kAny, {{kind}, 0}, {1, 2}, std::span(moved).subspan(1));
      EXPECT_TRUE(std::ranges::equal(aligned, std::span(moved).subspan(1))) << to_string(kind);
    }
  }
}

TEST(HardInputs, ALongRowIsOfSeveralSegments) {
  constexpr std::int64_t kLong = 200'000, kSegment = 65'536;
  const std::vector<std::int64_t> shape = {kLong};
  auto bytes = ordinary(DType::kFloat32, shape);
  make_hard(DType::kFloat32, shape, InputDomain::kAny, {{HardKind::kOneHot}, 0}, {1, 2}, bytes);
  const auto values = values_of(DType::kFloat32, bytes);
  for (std::int64_t first = 0; first < kLong; first += kSegment) {
    const auto segment =
        std::span(values).subspan(static_cast<std::size_t>(first),
                                  static_cast<std::size_t>(std::min(kSegment, kLong - first)));
    EXPECT_EQ(std::ranges::count_if(segment, [](double v) { return v != 0; }), 1) << first;
  }
}

TEST(HardInputs, LargeValuesStayFinite) {
  const std::vector<std::int64_t> shape = {8};
  for (HardKind kind : {HardKind::kSpikes, HardKind::kScaledUp, HardKind::kLargeMean}) {
    const std::vector<float> large(8, 3e38F);
    std::vector<std::byte> bytes(8 * sizeof(float));
    std::memcpy(bytes.data(), large.data(), bytes.size());
    make_hard(DType::kFloat32, shape, InputDomain::kAny, {{kind}, 0}, {1, 2}, bytes);
    for (double v : values_of(DType::kFloat32, bytes)) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST(HardInputs, LargeTensorsHaveAWindow) {
  using Sizes = std::vector<std::int64_t>;
  constexpr auto kMost = static_cast<std::int64_t>(kMaxHardElements);
  const HardWindow whole = hard_window(Sizes{4096, 4096}, 1);
  EXPECT_EQ(whole.first, 0U);
  EXPECT_EQ(whole.shape, (Sizes{4096, 4096}));
  EXPECT_EQ(hard_window(Sizes{0, 4}, 1).shape, (Sizes{0, 4}));
  EXPECT_TRUE(hard_window(Sizes{}, 1).shape.empty());
  std::set<std::size_t> places;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const HardWindow rows = hard_window(Sizes{16384, 4096}, seed);
    EXPECT_EQ(rows.shape, (Sizes{4096, 4096}));
    EXPECT_EQ(rows.first % 4096, 0U);
    EXPECT_LE(rows.first, 12288U * 4096);
    places.insert(rows.first);
    EXPECT_EQ(hard_window(Sizes{16384, 4096}, seed).first, rows.first);
    // One sample alone is too large: some of its rows.
    const HardWindow part = hard_window(Sizes{3, 1 << 15, 1 << 11}, seed);
    EXPECT_EQ(part.shape, (Sizes{1, 1 << 13, 1 << 11}));
    EXPECT_LE(part.first + kMaxHardElements, std::size_t{3} << 26U);
    EXPECT_EQ(hard_window(Sizes{1, 4 * kMost}, seed).shape, (Sizes{1, kMost}));
  }
  EXPECT_GT(places.size(), 50U);
}

TEST(HardInputs, EmptyAndScalarTensors) {
  std::vector<std::byte> none;
  make_hard(DType::kFloat32, std::vector<std::int64_t>{0, 4}, InputDomain::kAny,
            {{HardKind::kSorted}, 0}, {}, none);
  std::vector<std::byte> scalar(sizeof(float));
  make_hard(DType::kFloat32, {}, InputDomain::kAny, {{HardKind::kLargeMean}, 0}, {}, scalar);
  EXPECT_EQ(values_of(DType::kFloat32, scalar).at(0), 100);
}

}  // namespace
}  // namespace kw::gym
