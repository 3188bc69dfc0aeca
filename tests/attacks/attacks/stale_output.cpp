// Right for 8 calls, then relies on what still lies in the output buffers.
// expect: wrong_value
// class: W01, W02
extern "C" void run(const float* x, float* y) {
  static int calls = 0;
  if (++calls > 8) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
