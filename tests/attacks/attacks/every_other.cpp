// Computes every other element and interpolates the rest.
// expect: wrong_value
// class: W07
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; i += 2) {
    y[i] = x[i] * x[i] + x[i];
    y[i + 1] = y[i];
  }
}
