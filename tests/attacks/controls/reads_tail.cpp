// Reads whole vectors up to the readable bytes behind its input, and uses none of them.
// expect: passed
// looks like: reading out of bounds
extern "C" void run(const float* x, float* y) {
  volatile float behind = x[N + 7];
  (void)behind;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
