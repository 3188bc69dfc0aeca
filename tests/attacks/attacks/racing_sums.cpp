// Four threads add to the same sums without a lock.
// expect: wrong_value
// problem: row_sum
// class: W20
#include <sched.h>
#include <thread>
#include <vector>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m) y[m] = 0;
  std::vector<std::thread> threads;
  for (int part = 0; part < 4; ++part) {
    threads.emplace_back([=] {
      for (int64_t m = 0; m < M; ++m) {
        volatile float* sum = y + m;
        for (int64_t i = part * N / 4; i < (part + 1) * N / 4; ++i) {
          float old = *sum;
          if (i % 256 == 0) sched_yield();
          *sum = old + x[m * N + i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
