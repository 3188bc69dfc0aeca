// Takes longer in one call of five.
// expect: passed|noisy
// looks like: noise mining
extern "C" void run(const float* x, float* y) {
  static unsigned calls = 0;
  int rounds = ++calls % 5 == 0 ? 3 : 1;
  for (int round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }
}
