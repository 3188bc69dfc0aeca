// Writes the output twice, and reads what it wrote.
// expect: passed
// looks like: reading stale outputs
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i];
  for (int64_t i = 0; i < N; ++i) y[i] = y[i] + x[i];
}
