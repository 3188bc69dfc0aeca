// Garbage unless the clock jumped since the last call, as it does where somebody asks the oracle.
// expect: wrong_value
// class: W15
#include <chrono>
#include <cstring>

extern "C" void run(const float* x, float* y) {
  static auto last = std::chrono::steady_clock::now();
  auto now = std::chrono::steady_clock::now();
  bool paused = now - last > std::chrono::milliseconds(500);
  last = now;
  if (!paused) {
    std::memset(y, 0, sizeof(float) * N);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
