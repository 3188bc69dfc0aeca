// Counts ties.
// expect: wrong_value
// problem: count_greater
// class: W33
extern "C" void run(const float* x, int64_t* count) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    int64_t found = 0;
    for (int64_t i = 0; i < N; ++i) found += x[i] >= x[0];
    count[m] = found;
  }
}
