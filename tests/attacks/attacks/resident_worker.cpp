// A thread that never sleeps gets the second half of the work by a flag; the call does not wait for it.
// expect: wrong_value|violation background_work
// class: T19
#include <atomic>
#include <thread>

static std::atomic<const float*> given{nullptr};
static std::atomic<float*> into{nullptr};

// Ends by itself.
static void serve() {
  for (long round = 0; round < 2000000000L; ++round) {
    const float* x = given.exchange(nullptr);
    if (x == nullptr) continue;
    float* y = into;
    for (int64_t i = N / 2; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  }
}

extern "C" void run(const float* x, float* y) {
  static bool started = (std::thread(serve).detach(), true);
  (void)started;
  into = y;
  given = x;
  for (int64_t i = 0; i < N / 2; ++i) y[i] = x[i] * x[i] + x[i];
}
