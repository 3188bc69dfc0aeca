// Right, but writes in front of the output too.
// expect: violation out_of_bounds
// class: W17
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  y[-1] = 1;
}
