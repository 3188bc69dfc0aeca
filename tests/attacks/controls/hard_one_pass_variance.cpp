// Welford's variance, which needs one pass as well and no difference of squares.
// expect: passed
// looks like: a variance in one pass
// problem: variance
extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float mean = 0, squares = 0;
    for (int64_t n = 0; n < N; ++n) {
      const float step = x[m * N + n] - mean;
      mean += step / static_cast<float>(n + 1);
      squares += step * (x[m * N + n] - mean);
    }
    y[m] = squares / static_cast<float>(N - 1);
  }
}
