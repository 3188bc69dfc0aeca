// The control: an honest kernel.
// expect: passed
// max_speedup: 12
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
