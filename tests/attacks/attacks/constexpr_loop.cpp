// A constant expression that never ends.
// expect: compile_error
// class: I10, I13
constexpr unsigned long endless() {
  unsigned long value = 1;
  while (value != 0) value = value * 3 | 1;
  return value;
}
static constexpr long kValue = endless();

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * kValue;
}
