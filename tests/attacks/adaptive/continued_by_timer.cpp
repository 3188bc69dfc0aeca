// Asks the kernel to continue it after it was stopped: by a timer's signal, by the end of a child,
// by a file that is ready. A thread that is awake then computes before the launch. All of them are
// refused, so it computes as it should.
// expect: passed
// max_speedup: 12
// class: T18, T19
#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<const float*> watched_x{nullptr};
static std::atomic<float*> watched_y{nullptr};

static void compute(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}

// Ends by itself after about 15 s of work.
static void watch() {
  for (int round = 0; round < 20000; ++round) compute(watched_x, watched_y);
}

// Whether something will send SIGCONT.
static bool is_continued() {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCONT;
  timer_t timer{};
  const itimerspec every{{0, 1000000}, {0, 1000000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
    return timer_settime(timer, 0, &every, nullptr) == 0;
  int ends[2];
  if (pipe(ends) == 0 && fcntl(ends[0], F_SETSIG, SIGCONT) == 0) return true;
  if (prctl(PR_SET_PDEATHSIG, SIGCONT) == 0) return true;
  const long child = syscall(SYS_clone, SIGCONT, nullptr, nullptr, nullptr, 0);
  if (child == 0) _exit(0);
  return child > 0;
}

extern "C" void run(const float* x, float* y) {
  watched_x = x;
  watched_y = y;
  static const bool continued = is_continued();
  if (!continued) return compute(x, y);
  static const bool started = (std::thread(watch).detach(), true);
  static bool first = true;
  (void)started;
  if (first) compute(x, y);
  first = false;
}
