// All values scaled by seven units in the last place: errors have the values' signs, so their mean shows little.
// expect: passed|wrong_value
// max_speedup: 12
// class: W12
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    double v = static_cast<double>(x[i]) * x[i] + x[i];
    y[i] = static_cast<float>(v * (1 + 8.0e-7));
  }
}
