// Softmax over the allowed positions of each row, fused: positions that the mask forbids count as
// the lowest number there is.
#include <bit>
#include <cstdint>
#include <limits>

namespace {

// exp(x) for x <= 0, about one unit in the last place off, 0 where it would be below the smallest
// normal float. Small values are masked away and not selected by a condition, because loops with a
// condition around the arithmetic are not vectorised.
inline float exp_of_negative(float x) {
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, which stands in the low bits
  float shifted = x * 1.44269504f + kRound;
  float whole = shifted - kRound;
  float r = (x - whole * 0.693359375f) -
            whole * -2.12194440e-4f;  // x - whole * ln 2, with ln 2 in two parts
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  uint32_t bits = std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23);
  uint32_t keep = x < -87.3f ? 0u : ~0u;
  return std::bit_cast<float>(bits & keep);
}

}  // namespace

extern "C" void run(const float* x, const uint8_t* mask, float* y, int64_t M, int64_t N) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  for (int64_t row = 0; row < M; ++row, x += N, mask += N, y += N) {
    float largest = kLowest;
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < N; ++i) {
      float value = mask[i] != 0 ? x[i] : kLowest;
      largest = value > largest ? value : largest;
    }
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < N; ++i) {
      // A forbidden position becomes the lowest number, whose exponential is 0.
      float value = exp_of_negative((mask[i] != 0 ? x[i] : kLowest) - largest);
      y[i] = value;
      sum += value;
    }
    float factor = 1.0f / sum;
    for (int64_t i = 0; i < N; ++i) y[i] *= factor;
  }
}
