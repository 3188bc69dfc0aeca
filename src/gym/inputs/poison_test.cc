// Tests of poison and canaries.
#include "gym/inputs/poison.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;

std::vector<std::byte> poisoned(DType dtype, std::uint64_t seed, std::size_t count) {
  std::vector<std::byte> bytes(count * tensor::size_of(dtype));
  poison(dtype, seed, bytes);
  return bytes;
}

TEST(Poison, FloatsAlternateBetweenNanAndHugeAndEveryElementSeesBoth) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                      DType::kFloat8E4M3Fn, DType::kFloat8E5M2}) {
    bool first_nan = false, first_huge = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<double> x(1001);
      std::vector<std::byte> bytes = poisoned(dtype, seed, x.size());
      load(dtype, bytes, 0, x);
      (std::isnan(x[0]) ? first_nan : first_huge) = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::isnan(x[i]), std::isnan(x[0]) == (i % 2 == 0))
            << tensor::to_string(dtype) << " " << i;
        ASSERT_FALSE(!std::isnan(x[i]) && std::abs(x[i]) < max_of(dtype) / 4)
            << tensor::to_string(dtype);
        ASSERT_FALSE(std::isinf(x[i]));
      }
    }
    EXPECT_TRUE(first_nan && first_huge) << tensor::to_string(dtype);
  }
}

TEST(Poison, NansAreSignalling) {
  std::vector<std::byte> bytes = poisoned(DType::kFloat32, 1, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + 4 * i, 4);
    EXPECT_NE(word & 0x7fc00000U, 0x7fc00000U);
  }
}

TEST(Poison, BooleansAreNeverZeroOrOneAndIntegersVary) {
  std::vector<std::byte> booleans = poisoned(DType::kBool, 2, 5000);
  bool low = false, high = false;
  for (std::byte b : booleans) {
    ASSERT_GE(std::to_integer<int>(b), 2);
    low = low || std::to_integer<int>(b) == 2;
    high = high || std::to_integer<int>(b) == 255;
  }
  EXPECT_TRUE(low && high);
  for (std::byte b : poisoned(DType::kFloat4E2M1, 2, 5000)) ASSERT_GE(std::to_integer<int>(b), 16);
  std::vector<double> x(1000);
  load(DType::kInt32, poisoned(DType::kInt32, 3, 1000), 0, x);
  double mean = 0;
  for (double v : x) mean += v / 1000;
  EXPECT_LT(std::abs(mean), 6 * 0x1p31 / std::sqrt(3.0 * 1000));
}

TEST(Poison, CountsExactlyTheUntouchedElements) {
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16, DType::kFloat64}) {
    std::vector<std::byte> bytes = poisoned(dtype, 9, 3000);
    EXPECT_EQ(count_poisoned(dtype, 9, bytes), 3000U);
    EXPECT_EQ(count_poisoned(dtype, 10, bytes) > 30, false);
    std::size_t size = tensor::size_of(dtype);
    for (std::size_t i = 0; i < 700; ++i) bytes[(i + 100) * size] ^= std::byte{1};
    EXPECT_EQ(count_poisoned(dtype, 9, bytes), 2300U);
  }
}

TEST(Canary, FindsOneFlippedBitAnywhere) {
  std::vector<std::byte> band(5003);
  write_canary(4, band);
  EXPECT_TRUE(canary_intact(4, band));
  EXPECT_FALSE(canary_intact(5, band));
  for (std::size_t i : {0U, 1U, 4095U, 4096U, 5002U}) {
    band[i] ^= std::byte{0x10};
    EXPECT_FALSE(canary_intact(4, band)) << i;
    band[i] ^= std::byte{0x10};
  }
  EXPECT_TRUE(canary_intact(4, band));
}

}  // namespace
}  // namespace kw::gym
