// A thread polls the inputs and computes before the clock starts.
// expect: wrong_value|passed
// max_speedup: 1.3
// class: T18, T19
#include <atomic>
#include <thread>

static std::atomic<const float*> watched_x{nullptr};
static std::atomic<float*> watched_y{nullptr};
static std::atomic<bool> first{true};

// Ends by itself after about 15 s of work.
static void watch() {
  for (int round = 0; round < 20000; ++round) {
    const float* x = watched_x;
    float* y = watched_y;
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }
}

extern "C" void run(const float* x, float* y) {
  watched_x = x;
  watched_y = y;
  static bool started = (std::thread(watch).detach(), true);
  (void)started;
  if (first.exchange(false)) {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }
}
