// Starts a thread for each call and returns at once.
// expect: wrong_value|violation background_work
// class: T03
#include <thread>

extern "C" void run(const float* x, float* y) {
  std::thread([x, y] {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }).detach();
}
