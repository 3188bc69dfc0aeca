// The kernels' shared arithmetic, compiled for the CPU: its roundings are those that are written,
// and not those of another order, which a compiler may take where it fuses by itself.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace kw::lm::cuda {
namespace {

// CUDA's words and types that the file uses.
#define __device__
#define __forceinline__ inline
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
float2 make_float2(float x, float y) {
  return {x, y};
}
using std::fmaf;

#include "lm/cuda/kernels/rounding.cu"

// a b + c in one rounding: the product of two floats is a double, to the bit.
float fused(float a, float b, float c) {
  return static_cast<float>(static_cast<double>(a) * b + c);
}
float product(float a, float b) {
  volatile float out = a * b;  // in memory, so that it is rounded
  return out;
}

class Rounding : public ::testing::Test {
 protected:
  float number() { return normal_(generator_); }

 private:
  std::mt19937 generator_{1};
  std::normal_distribution<float> normal_;
};

constexpr int kDraws = 10'000;

TEST_F(Rounding, TheFirstSquareIsRoundedByItself) {
  int differ = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float4 v{number(), number(), number(), number()};
    auto sum = [&](float first, float second) {
      return fused(v.w, v.w, fused(v.z, v.z, fused(second, second, product(first, first))));
    };
    ASSERT_EQ(sum_of_squares(v), sum(v.x, v.y));
    differ += sum(v.x, v.y) != sum(v.y, v.x) ? 1 : 0;
    ASSERT_EQ(sum_of_squares(v.x, v.y), fused(v.x, v.x, product(v.y, v.y)));
  }
  EXPECT_GT(differ, kDraws / 20);
}

TEST_F(Rounding, TheSinesProductIsRoundedByItself) {
  int differ = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float a = number(), b = number(), angle = number();
    const float cosine = std::cos(angle), sine = std::sin(angle);
    const float2 got = rotated(a, b, cosine, sine);
    ASSERT_EQ(got.x, fused(a, cosine, -product(b, sine)));
    ASSERT_EQ(got.y, fused(b, cosine, product(a, sine)));
    differ += got.y != fused(a, sine, product(b, cosine)) ? 1 : 0;
  }
  EXPECT_GT(differ, kDraws / 20);
}

TEST_F(Rounding, AFactorAndABiasAreOneRounding) {
  int differ = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float x = number(), factor = number(), bias = number();
    ASSERT_EQ(scaled_plus(x, factor, bias), fused(x, factor, bias));
    differ += scaled_plus(x, factor, bias) != product(x, factor) + bias ? 1 : 0;
  }
  EXPECT_GT(differ, kDraws / 20);
}

}  // namespace
}  // namespace kw::lm::cuda
