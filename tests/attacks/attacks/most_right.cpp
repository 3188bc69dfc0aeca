// Right but for five in a hundred elements.
// expect: wrong_value
// class: W11
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = i % 20 == 7 ? 0 : x[i] * x[i] + x[i];
}
