// A thread waits in vfork for a child that sleeps: a state in which not everything can be frozen.
// expect: passed|noisy|timeout|violation background_work
// max_speedup: 12
// class: I07, I12
#include <ctime>
#include <thread>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static bool started = (std::thread([] {
                           if (vfork() == 0) {
                             timespec time{15, 0};
                             nanosleep(&time, nullptr);
                             _exit(0);
                           }
                         }).detach(),
                         true);
  (void)started;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
