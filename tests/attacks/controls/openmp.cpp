// Asks OpenMP for threads, of which there may be one.
// expect: passed
// looks like: parallel work
extern "C" void run(const float* x, float* y) {
#pragma omp parallel for
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
