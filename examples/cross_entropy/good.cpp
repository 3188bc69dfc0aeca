// Mean cross entropy without storing probabilities: for each row the maximum, then the sum of
// exponentials.
#include <bit>
#include <cmath>
#include <cstdint>

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

extern "C" void run(const float* logits, const int64_t* target, float* loss, int64_t M) {
  double total = 0.0;
  for (int64_t row = 0; row < M; ++row, logits += C) {
    float largest = logits[0];
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < C; ++i) largest = logits[i] > largest ? logits[i] : largest;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < C; ++i) sum += exp_of_negative(logits[i] - largest);
    total += std::log(sum) + (largest - logits[target[row]]);
  }
  *loss = static_cast<float>(total / static_cast<double>(M));
}
