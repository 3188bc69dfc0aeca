// Weakly named helpers, attributes and inline assembly that does nothing.
// expect: passed
// looks like: tampering with symbols
__attribute__((noinline, weak)) float square_plus(float value) {
  asm volatile("" ::: "memory");
  return value * value + value;
}

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = square_plus(x[i]);
}
