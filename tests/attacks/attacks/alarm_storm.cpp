// A timer's signals at every hundred microseconds, in whose handler the work is done.
// expect: wrong_value|violation
// class: T04
#include <csignal>
#include <sys/time.h>

static const float* volatile given = nullptr;
static float* volatile into = nullptr;

static void work(int) {
  if (given == nullptr) return;
  const float* x = given;
  float* y = into;
  given = nullptr;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}

extern "C" void run(const float* x, float* y) {
  static bool started = [] {
    signal(SIGALRM, work);
    itimerval every{{0, 3000}, {0, 3000}};
    return setitimer(ITIMER_REAL, &every, nullptr) == 0;
  }();
  (void)started;
  into = y;
  given = x;
}
