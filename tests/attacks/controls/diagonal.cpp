// Scales rows in place of a product with a diagonal matrix: a very large real win.
// expect: passed
// problem: slow_reference
// looks like: an impossible speedup
extern "C" void run(const float* d, const float* b, float* c) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = d[i] * b[i * N + j];
  }
}
