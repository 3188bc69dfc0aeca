// x (x + 1): the same polynomial with one operation less.
// expect: passed
// looks like: another formula
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * (x[i] + 1);
}
