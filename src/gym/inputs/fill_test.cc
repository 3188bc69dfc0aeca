// Tests of the input distributions, for every dtype that has them.
#include "gym/inputs/fill.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/half.h"

namespace kw::gym {
namespace {

using task::Distribution;
using tensor::DType;
using Shape = std::vector<std::int64_t>;

const std::vector<DType> kFloats = {DType::kFloat64,   DType::kFloat32,      DType::kFloat16,
                                    DType::kBFloat16,  DType::kFloat8E4M3Fn, DType::kFloat8E5M2,
                                    DType::kFloat4E2M1};
const std::vector<DType> kWhole = {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8,
                                   DType::kUInt8};

std::vector<double> values(DType dtype, const Shape& shape, const task::InputPolicy& policy,
                           std::uint64_t seed = 1) {
  auto count = static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
  std::vector<std::byte> bytes(count * tensor::size_of(dtype));
  Status status = fill_input(dtype, shape, policy, seed, bytes);
  EXPECT_TRUE(status) << (status ? "" : status.error().message());
  std::vector<double> out(count);
  load(dtype, bytes, 0, out);
  return out;
}

struct Moments {
  double mean = 0, variance = 0, least = 0, most = 0;
};

Moments moments(const std::vector<double>& x) {
  Moments m;
  auto n = static_cast<double>(x.size());
  for (double v : x) m.mean += v / n;
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  m.least = *std::min_element(x.begin(), x.end());
  m.most = *std::max_element(x.begin(), x.end());
  return m;
}

TEST(Fill, DefaultIsFlashInferBenchs) {
  for (DType dtype : kFloats) {
    Moments m = moments(values(dtype, {300, 500}, {}));
    EXPECT_NEAR(m.mean, 0, 0.02) << tensor::to_string(dtype);
    bool clamped = tensor::size_of(dtype) == 1;
    EXPECT_NEAR(m.variance, clamped ? 0.93 : 1.0, 0.05) << tensor::to_string(dtype);
    EXPECT_EQ(m.most <= 2, clamped) << tensor::to_string(dtype);
  }
  for (DType dtype : kWhole) {
    Moments m = moments(values(dtype, {300, 500}, {}));
    double least = dtype == DType::kInt8 ? -128 : dtype == DType::kUInt8 ? 0 : -1024;
    double most = dtype == DType::kInt8 ? 127 : dtype == DType::kUInt8 ? 255 : 1023;
    EXPECT_EQ(m.least, least) << tensor::to_string(dtype);
    EXPECT_EQ(m.most, most) << tensor::to_string(dtype);
  }
  EXPECT_NEAR(moments(values(DType::kBool, {300, 500}, {})).mean, 0.5, 0.01);
}

TEST(Fill, SeedsDecideEveryByte) {
  EXPECT_EQ(values(DType::kFloat32, {1000}, {}, 5), values(DType::kFloat32, {1000}, {}, 5));
  std::vector<double> a = values(DType::kFloat32, {1000}, {}, 5),
                      b = values(DType::kFloat32, {1000}, {}, 6);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NE(a[i], b[i]);
}

TEST(Fill, NormalHasMeanAndDeviation) {
  task::InputPolicy policy{Distribution::kNormal, 3.0, 0.5};
  Moments m = moments(values(DType::kFloat32, {100000}, policy));
  EXPECT_NEAR(m.mean, 3, 0.01);
  EXPECT_NEAR(std::sqrt(m.variance), 0.5, 0.01);
  policy = {Distribution::kNormal, 10.0, 20.0};
  EXPECT_NEAR(moments(values(DType::kInt32, {100000}, policy)).mean, 10, 0.5);
}

TEST(Fill, UniformStaysBelowItsEndInEveryDtype) {
  for (DType dtype : kFloats) {
    for (auto [low, high] : {std::pair{0.0, 1.0}, {-3.0, 0.0}, {0.1, 0.6}, {1.0, 1.6}}) {
      Moments m = moments(values(dtype, {40000}, {Distribution::kUniform, low, high}));
      EXPECT_GE(m.least, low) << tensor::to_string(dtype);
      EXPECT_LT(m.most, high) << tensor::to_string(dtype);
    }
  }
  Moments m = moments(values(DType::kInt16, {40000}, {Distribution::kUniform, -3.0, 4.0}));
  EXPECT_EQ(m.least, -3);
  EXPECT_EQ(m.most, 3);
}

TEST(Fill, Float64UsesBitsThatFloat32HasNot) {
  std::vector<double> x = values(DType::kFloat64, {1000}, {});
  int longer = 0;
  for (double v : x) longer += static_cast<double>(static_cast<float>(v)) != v ? 1 : 0;
  EXPECT_GT(longer, 990);
}

TEST(Fill, IntegersAreWholeAndReachBothEnds) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat8E4M3Fn,
                      DType::kInt8, DType::kInt64}) {
    std::vector<double> x = values(dtype, {5000}, {Distribution::kIntegers, -3.0, 5.0});
    std::set<double> seen(x.begin(), x.end());
    EXPECT_EQ(seen, (std::set<double>{-3, -2, -1, 0, 1, 2, 3, 4, 5})) << tensor::to_string(dtype);
  }
  std::vector<double> wide =
      values(DType::kInt64, {1000}, {Distribution::kIntegers, -0x1p62, 0x1p62});
  EXPECT_GT(moments(wide).most, 0x1p61);
}

TEST(Fill, SpikesStandOncePerBlockAtChangingPlaces) {
  std::set<std::size_t> places;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> x =
        values(DType::kFloat32, {64, 160}, {Distribution::kSpikes, {}, {}}, seed);
    for (std::size_t block = 0; block < x.size(); block += 1024) {
      auto large = [](double v) { return std::abs(v) > 20; };
      auto begin = x.begin() + static_cast<std::ptrdiff_t>(block);
      EXPECT_LE(std::count_if(begin, begin + 1024, large), 1);
      auto found = std::find_if(begin, begin + 1024, large);
      if (found != begin + 1024) places.insert(static_cast<std::size_t>(found - begin));
    }
  }
  EXPECT_GT(places.size(), 150U);
  EXPECT_EQ(moments(values(DType::kFloat16, {100000}, {Distribution::kSpikes, {}, 1e6}, 1)).most,
            65504);
  EXPECT_GT(std::abs(values(DType::kFloat32, {1}, {Distribution::kSpikes, {}, {}})[0]), 10);
}

TEST(Fill, OneHotRowsHoldOneOne) {
  for (DType dtype :
       {DType::kFloat32, DType::kBool, DType::kInt32, DType::kFloat64, DType::kFloat16}) {
    std::vector<double> x = values(dtype, {200, 37}, {Distribution::kOneHot, {}, {}});
    std::set<std::size_t> columns;
    for (std::size_t row = 0; row < 200; ++row) {
      double sum = 0;
      for (std::size_t c = 0; c < 37; ++c) {
        sum += x[row * 37 + c];
        if (x[row * 37 + c] == 1) columns.insert(c);
      }
      ASSERT_EQ(sum, 1) << tensor::to_string(dtype);
    }
    EXPECT_GT(columns.size(), 30U);
  }
}

TEST(Fill, WideRangeScalesRowsByPowersOfTwo) {
  std::vector<double> x = values(DType::kFloat32, {400, 1000}, {Distribution::kWideRange, {}, {}});
  std::set<int> scales;
  for (std::size_t row = 0; row < 400; ++row) {
    Moments m = moments({x.begin() + static_cast<std::ptrdiff_t>(row * 1000),
                         x.begin() + static_cast<std::ptrdiff_t>(row * 1000 + 1000)});
    double exponent = std::log2(m.variance) / 2;
    EXPECT_NEAR(exponent, std::round(exponent), 0.25);
    scales.insert(static_cast<int>(std::round(exponent)));
  }
  EXPECT_EQ(scales.size(), 21U);
  EXPECT_EQ(*scales.begin(), -10);
}

TEST(Fill, ProbabilitiesSumToOne) {
  for (std::size_t columns : {10U, 5000U}) {
    std::vector<double> x = values(DType::kFloat32, {20, static_cast<std::int64_t>(columns)},
                                   {Distribution::kProbabilities, {}, {}});
    for (std::size_t row = 0; row < 20; ++row) {
      auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * columns);
      EXPECT_NEAR(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(columns), 0.0), 1,
                  1e-6);
      EXPECT_GT(*std::min_element(begin, begin + static_cast<std::ptrdiff_t>(columns)), 0);
    }
  }
}

TEST(Fill, PermutationRowsHoldEveryIndexOnce) {
  for (DType dtype : {DType::kInt64, DType::kInt16, DType::kFloat32}) {
    std::vector<double> x = values(dtype, {5, 5000}, {Distribution::kPermutation, {}, {}});
    for (std::size_t row = 0; row < 5; ++row) {
      auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * 5000);
      std::vector<double> sorted(begin, begin + 5000);
      EXPECT_NE(sorted[0] + sorted[1] * 7 + sorted[2] * 31, 69);  // not the identity
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(sorted[i], static_cast<double>(i));
    }
  }
}

TEST(Fill, ConstantAndScalars) {
  EXPECT_EQ(values(DType::kFloat64, {3}, {Distribution::kConstant, 0.1, {}}),
            (std::vector<double>{0.1, 0.1, 0.1}));
  EXPECT_EQ(values(DType::kInt8, {2}, {Distribution::kConstant, -7.0, {}}),
            (std::vector<double>{-7, -7}));
  EXPECT_EQ(values(DType::kFloat32, {}, {}).size(), 1U);
  EXPECT_TRUE(values(DType::kFloat32, {0, 4}, {}).empty());
}

TEST(Fill, RefusesWhatTheDtypeCannotHold) {
  auto refused = [](DType dtype, Shape shape, task::InputPolicy policy) {
    return !check_distribution(dtype, shape, policy);
  };
  EXPECT_TRUE(refused(DType::kInt32, {4}, {Distribution::kSpikes, {}, {}}));
  EXPECT_TRUE(refused(DType::kBool, {4}, {Distribution::kNormal, {}, {}}));
  EXPECT_TRUE(refused(DType::kInt8, {300}, {Distribution::kPermutation, {}, {}}));
  EXPECT_TRUE(refused(DType::kBFloat16, {300}, {Distribution::kPermutation, {}, {}}));
  EXPECT_TRUE(refused(DType::kFloat16, {4}, {Distribution::kIntegers, 0.0, 3000.0}));
  EXPECT_TRUE(refused(DType::kInt32, {4}, {Distribution::kUniform, {}, {}}));
  EXPECT_TRUE(refused(DType::kFloat32, {4}, {Distribution::kUniform, 1.0, 1.0}));
  EXPECT_TRUE(refused(DType::kFloat4E2M1, {4}, {Distribution::kUniform, 0.6, 0.9}));
  EXPECT_TRUE(refused(DType::kFloat32, {4}, {Distribution::kNormal, 0.0, std::nan("")}));
  EXPECT_TRUE(refused(DType::kUInt8, {4}, {Distribution::kConstant, -1.0, {}}));
  EXPECT_FALSE(refused(DType::kUInt8, {4}, {Distribution::kIntegers, {}, {}}));
  EXPECT_FALSE(refused(DType::kFloat32, {1 << 20}, {Distribution::kPermutation, {}, {}}));
}

}  // namespace
}  // namespace kw::gym
