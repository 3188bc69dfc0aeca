// Writes to its input, and jumps over the fault.
// expect: wrong_value|violation
// class: W03, I12
#include <csetjmp>
#include <csignal>

static sigjmp_buf back;

extern "C" void run(const float* x, float* y) {
  signal(SIGSEGV, [](int) { siglongjmp(back, 1); });
  if (sigsetjmp(back, 1) == 0) {
    for (int64_t i = 0; i < N; ++i) const_cast<float*>(x)[i] = 0;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = 0;
}
