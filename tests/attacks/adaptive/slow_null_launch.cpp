// Sleeping threads make the empty launches slow whose time the checker takes off every other launch; they end before the first call.
// expect: violation|passed
// max_speedup: 4.5
// class: T22
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::condition_variable over;
static bool is_over = false;
static std::vector<std::thread> sleepers;

static bool begin() {
  for (int i = 0; i < 200; ++i) {
    try {
      sleepers.emplace_back([] {
        std::unique_lock lock(mutex);
        over.wait(lock, [] { return is_over; });
      });
    } catch (...) {
      break;
    }
  }
  return true;
}

static bool begun = begin();

static void end() {
  {
    std::lock_guard lock(mutex);
    is_over = true;
  }
  over.notify_all();
  for (std::thread& sleeper : sleepers) sleeper.join();
  sleepers.clear();
}

extern "C" void run(const float* x, float* y) {
  if (!sleepers.empty()) end();
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
