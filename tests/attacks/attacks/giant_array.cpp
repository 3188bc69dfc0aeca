// An array of gigabytes that stands in the object file.
// expect: compile_error
// class: I10
asm(".data\ngiant: .fill 0x100000000, 1, 7\n.text\n");

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
