// C = A B: rows of four, vectorised over columns.
extern "C" void run(const float* A, const float* B, float* out) {
  constexpr int64_t n = A_0;
  for (int64_t i = 0; i < n * n; ++i) out[i] = 0;
  for (int64_t i = 0; i < n; i += 4) {
    for (int64_t k = 0; k < n; ++k) {
      float a[4];
      for (int64_t r = 0; r < 4; ++r) a[r] = i + r < n ? A[(i + r) * n + k] : 0;
      for (int64_t r = 0; r < 4 && i + r < n; ++r) {
        for (int64_t j = 0; j < n; ++j) out[(i + r) * n + j] += a[r] * B[k * n + j];
      }
    }
  }
}
