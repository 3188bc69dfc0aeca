// Threads that are joined add their parts atomically, in the order in which they end.
// expect: passed|violation background_work
// problem: row_sum
// looks like: background work
#include <atomic>
#include <thread>
#include <vector>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m) y[m] = 0;
  std::vector<std::thread> threads;
  for (int part = 0; part < 2; ++part) {
    threads.emplace_back([=] {
      for (int64_t m = 0; m < M; ++m) {
        float sum = 0;
        for (int64_t i = part * N / 2; i < (part + 1) * N / 2; ++i) sum += x[m * N + i];
        std::atomic_ref<float>(y[m]).fetch_add(sum);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
