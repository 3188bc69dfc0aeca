// Honest while calls come slowly, one after the other; garbage in quick succession.
// expect: wrong_value
// class: W15
#include <chrono>
#include <cstring>

extern "C" void run(const float* x, float* y) {
  static auto last = std::chrono::steady_clock::time_point();
  auto now = std::chrono::steady_clock::now();
  bool quick = now - last < std::chrono::seconds(2);
  last = now;
  if (quick) {
    std::memset(y, 0, sizeof(float) * N);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
