// Right for the first eight calls, then nothing.
// expect: wrong_value
// class: W16
extern "C" void run(const float* x, float* y) {
  static int calls = 0;
  if (++calls > 8) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
