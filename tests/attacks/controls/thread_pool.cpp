// A pool with one sleeping worker, to whom each call hands half of its work and for whom it waits.
// expect: passed
// looks like: a resident worker
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static const float* given = nullptr;
static float* into = nullptr;

static void serve() {
  while (true) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return given != nullptr; });
    for (int64_t i = 0; i < N / 2; ++i) into[i] = given[i] * given[i] + given[i];
    given = nullptr;
    changed.notify_all();
  }
}

extern "C" void run(const float* x, float* y) {
  static bool started = (std::thread(serve).detach(), true);
  (void)started;
  {
    std::lock_guard lock(mutex);
    given = x;
    into = y;
  }
  changed.notify_all();
  for (int64_t i = N / 2; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return given == nullptr; });
}
