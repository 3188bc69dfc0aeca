// Calls itself without end.
// expect: runtime_error
// class: I10
static int deeper(const float* x, int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return deeper(x, depth + 1) + frame[0];
}

extern "C" void run(const float* x, float* y) {
  y[0] = static_cast<float>(deeper(x, 0));
}
