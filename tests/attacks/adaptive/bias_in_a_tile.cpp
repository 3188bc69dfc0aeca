// Coarser rounding in one stretch of 64 elements of each 65536.
// expect: wrong_value
// class: W08, W11
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    double v = static_cast<double>(x[i]) * x[i] + x[i];
    bool coarse = i % 65536 < 64;
    y[i] = static_cast<float>(coarse ? v * (i % 2 == 0 ? 1 + 1.8e-6 : 1 - 1.8e-6) : v);
  }
}
