// Right where zeros lie behind the input, of which it reads more than there is.
// expect: wrong_value
// class: W17
extern "C" void run(const float* x, float* y) {
  float behind = 0;
  for (int64_t i = N; i < N + 16; ++i) behind += x[i];
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  y[N - 1] += behind;
}
