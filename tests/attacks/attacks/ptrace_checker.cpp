// Looks for other processes to read or trace; right only if it finds one.
// expect: wrong_value
// class: I05, I07
#include <cstdio>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>

static bool reaches_another() {
  for (int pid = 1; pid < 40000; ++pid) {
    if (pid == getpid()) continue;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDWR);
    if (fd >= 0) return true;
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) return true;
  }
  return false;
}

extern "C" void run(const float* x, float* y) {
  if (!reaches_another()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
