// Two threads share the work and are joined.
// expect: passed
// looks like: background work
#include <thread>

static void part(const float* x, float* y, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) y[i] = x[i] * x[i] + x[i];
}

extern "C" void run(const float* x, float* y) {
  std::thread half(part, x, y, 0, N / 2);
  part(x, y, N / 2, N);
  half.join();
}
