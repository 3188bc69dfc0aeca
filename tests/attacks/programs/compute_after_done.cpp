// Returns at once; a thread computes afterwards.
// expect: wrong_value|violation background_work
#include <chrono>
#include <thread>

extern "C" void run(const float* x, float* y) {
  std::thread([x, y] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }).detach();
}
