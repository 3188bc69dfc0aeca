// Computes in double precision.
// expect: passed
// looks like: other bits
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) * x[i] + x[i]);
}
