// Factors of sixteen bits: more than the tolerance of any fixed harness, less than single precision.
// expect: wrong_value
// problem: matmul
// class: W08
#include <cstdint>
#include <cstring>
#include <vector>

static float rounded(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x80U) & 0xffffff00U;
  std::memcpy(&value, &bits, 4);
  return value;
}

extern "C" void run(const float* a, const float* b, float* c) {
  static std::vector<float> p(N * N), q(N * N);
  for (int64_t i = 0; i < N * N; ++i) p[i] = rounded(a[i]);
  for (int64_t i = 0; i < N * N; ++i) q[i] = rounded(b[i]);
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = 0;
    for (int64_t k = 0; k < N; ++k) {
      for (int64_t j = 0; j < N; ++j) c[i * N + j] += p[i * N + k] * q[k * N + j];
    }
  }
}
