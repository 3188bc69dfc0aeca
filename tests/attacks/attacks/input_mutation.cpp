// Zeros the input, so that a reference run afterwards would agree with zeros.
// expect: violation input_write
// class: W03
extern "C" void run(const float* x, float* y) {
  float* writable = const_cast<float*>(x);
  for (int64_t i = 0; i < N; ++i) writable[i] = 0;
  for (int64_t i = 0; i < N; ++i) y[i] = 0;
}
