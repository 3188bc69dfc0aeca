// Catches SIGSYS and tries what the sandbox forbids; right only if something works.
// expect: wrong_value|runtime_error
// class: I07
#include <csignal>
#include <cstdint>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool some_call_works() {
  signal(SIGSYS, SIG_IGN);
  char buffer[256] = {};
  if (syscall(SYS_io_uring_setup, 8, buffer) >= 0) return true;
  if (syscall(SYS_bpf, 0, buffer, sizeof buffer) >= 0) return true;
  if (syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0) >= 0) return true;
  if (syscall(SYS_keyctl, 0, -3, 1) >= 0) return true;
  if (unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0) return true;
  if (syscall(SYS_setns, 0, 0) == 0) return true;
  if (syscall(SYS_chroot, "/") == 0) return true;
  if (syscall(SYS_clock_settime, 0, buffer) == 0) return true;
  if (syscall(SYS_init_module, buffer, 0, "") == 0) return true;
  if (syscall(SYS_open_by_handle_at, 3, buffer, 0) >= 0) return true;
  if (ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0) return true;
  return setuid(0) == 0;
}

extern "C" void run(const float* x, float* y) {
  if (!some_call_works()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
