// Leaves out the last of 256 terms.
// expect: wrong_value
// problem: matmul
// class: W07, W21
extern "C" void run(const float* a, const float* b, float* c) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = 0;
    for (int64_t k = 0; k < N - 1; ++k) {
      for (int64_t j = 0; j < N; ++j) c[i * N + j] += a[i * N + k] * b[k * N + j];
    }
  }
}
