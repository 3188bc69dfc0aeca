// Writes from the end to the beginning.
// expect: passed
// looks like: half-written outputs
extern "C" void run(const float* x, float* y) {
  for (int64_t i = N - 1; i >= 0; --i) y[i] = x[i] * x[i] + x[i];
}
