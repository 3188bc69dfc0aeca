// Sums over blocks of the inner dimension.
// expect: passed
// problem: matmul
// looks like: dropped terms
extern "C" void run(const float* a, const float* b, float* c) {
  for (int64_t i = 0; i < N * N; ++i) c[i] = 0;
  for (int64_t first = 0; first < N; first += 32) {
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t k = first; k < first + 32; ++k) {
        for (int64_t j = 0; j < N; ++j) c[i * N + j] += a[i * N + k] * b[k * N + j];
      }
    }
  }
}
