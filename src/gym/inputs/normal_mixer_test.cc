// The numbers are normal, fresh, and not linearly dependent where kernels look.
#include "gym/inputs/normal_mixer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

std::vector<float> made(std::uint64_t seed, std::size_t count) {
  std::vector<float> out(count);
  NormalMixer(seed).normal(out);
  return out;
}

TEST(NormalMixer, HasTheMomentsAndTailsOfANormal) {
  // Over many pools, since one pool's own mean stays in everything made of it.
  double sum = 0, square = 0, fourth = 0, count = 0, beyond2 = 0, beyond3 = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (float x : made(seed, NormalMixer::kWorthwhile)) {
      auto v = static_cast<double>(x);
      sum += v;
      square += v * v;
      fourth += v * v * v * v;
      beyond2 += std::abs(v) > 2 ? 1 : 0;
      beyond3 += std::abs(v) > 3 ? 1 : 0;
      count += 1;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.005);
  EXPECT_NEAR(square / count, 1, 0.01);
  EXPECT_NEAR(fourth / count, 3, 0.1);
  EXPECT_NEAR(beyond2 / count, 0.0455, 0.002);
  EXPECT_NEAR(beyond3 / count, 0.0027, 0.0004);
}

TEST(NormalMixer, HasMeanAndDeviation) {
  std::vector<float> plain(5000), moved(5000);
  NormalMixer(9).normal(plain);
  NormalMixer(9, 3, 0.5F).normal(moved);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(moved[i], 3 + plain[i] / 2, 1e-5);
}

TEST(NormalMixer, SeedDecidesEveryBit) {
  EXPECT_EQ(made(3, 5000), made(3, 5000));
  std::vector<float> a = made(3, 5000), b = made(4, 5000);
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(same, 3U);
}

TEST(NormalMixer, WindowsAreNotCopiesOfEachOther) {
  std::vector<float> x = made(5, 64 * NormalMixer::kWindow);
  std::vector<float> sorted = x;
  std::ranges::sort(sorted);
  auto repeated = static_cast<std::size_t>(sorted.end() - std::ranges::unique(sorted).begin());
  EXPECT_LT(repeated, x.size() / 100);
}

TEST(NormalMixer, RowsOfAMatrixAreNotDependent) {
  // Gram-Schmidt over rows of 512: the shortest remainder of a random 256 x 512 matrix is not near
  // 0.
  constexpr std::size_t kRows = 256, kColumns = 512;
  std::vector<float> x = made(6, kRows * kColumns);
  std::vector<std::vector<double>> basis;
  double shortest = 1e9;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(r * kColumns),
                            x.begin() + static_cast<std::ptrdiff_t>((r + 1) * kColumns));
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& b : basis) {
        double dot = 0;
        for (std::size_t i = 0; i < kColumns; ++i) dot += b[i] * row[i];
        for (std::size_t i = 0; i < kColumns; ++i) row[i] -= dot * b[i];
      }
    }
    double norm = 0;
    for (double v : row) norm += v * v;
    norm = std::sqrt(norm);
    shortest = std::min(shortest, norm);
    for (double& v : row) v /= norm;
    basis.push_back(std::move(row));
  }
  EXPECT_GT(shortest, 5);  // sqrt(512 - 256) is typical at the end
}

}  // namespace
}  // namespace kw::gym
