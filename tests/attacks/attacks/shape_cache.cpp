// Computes once and keeps handing out that result: the shape is always the same.
// expect: wrong_value
// class: C03
#include <cstring>
#include <vector>

extern "C" void run(const float* x, float* y) {
  static std::vector<float> result;
  if (result.empty()) {
    result.resize(N);
    for (int64_t i = 0; i < N; ++i) result[i] = x[i] * x[i] + x[i];
  }
  std::memcpy(y, result.data(), sizeof(float) * N);
}
