// Transposes the weight once, in prepare.
// expect: passed
// problem: matvec_static
// looks like: work outside the clock
#include <cstring>
#include <vector>

static std::vector<float> columns;

extern "C" void prepare(const float* weight) {
  columns.resize(N * K);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k) columns[k * N + n] = weight[n * K + k];
  }
}

extern "C" void run(const float* x, const float* weight, float* y) {
  (void)weight;
  for (int64_t n = 0; n < N; ++n) y[n] = 0;
  for (int64_t k = 0; k < K; ++k) {
    for (int64_t n = 0; n < N; ++n) y[n] += columns[k * N + n] * x[k];
  }
}
