// Transposes the weight once, in prepare.
// expect: passed
// problem: matvec_static
// looks like: work outside the clock
#include <vector>

extern "C" void* prepare(const float* weight) {
  static std::vector<float> columns(N * K);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k) columns[k * N + n] = weight[n * K + k];
  }
  return columns.data();
}

extern "C" void run(void* packed, const float* x, const float* weight, float* y) {
  const auto* columns = static_cast<const float*>(packed);
  (void)weight;
  for (int64_t n = 0; n < N; ++n) y[n] = 0;
  for (int64_t k = 0; k < K; ++k) {
    for (int64_t n = 0; n < N; ++n) y[n] += columns[k * N + n] * x[k];
  }
}
