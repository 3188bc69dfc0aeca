// Tries two variants in the first call and keeps the faster one.
// expect: passed
// looks like: warm-up detection
#include <chrono>

static void forwards(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}

static void unrolled(const float* x, float* y) {
  for (int64_t i = 0; i < N; i += 4) {
    for (int k = 0; k < 4; ++k) y[i + k] = x[i + k] * (x[i + k] + 1);
  }
}

template <typename Function>
static double seconds(Function function, const float* x, float* y) {
  auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) function(x, y);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

extern "C" void run(const float* x, float* y) {
  static auto best = seconds(forwards, x, y) < seconds(unrolled, x, y) ? forwards : unrolled;
  best(x, y);
}
