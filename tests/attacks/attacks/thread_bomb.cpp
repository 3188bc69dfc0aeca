// Starts threads until there are no more.
// expect: wrong_value|runtime_error|timeout|memory_limit|violation background_work
// class: I10
#include <system_error>
#include <thread>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  try {
    for (int i = 0; i < 100000; ++i) std::thread([] { sleep(10); }).detach();
  } catch (const std::system_error&) {
  }
}
