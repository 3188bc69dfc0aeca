// Sums from the last index to the first: other draws than the reference's, of the same distribution.
// expect: passed
// looks like: wrong values
// problem: categorical_sample
extern "C" void run(const float* probability, const float* uniform, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = probability + m * N;
    float total = 0;
    for (int64_t n = 0; n < N; ++n) total += row[n];
    float left = uniform[m] * total;
    int64_t chosen = -1;
    for (int64_t n = N - 1; n >= 0; --n) {
      if (row[n] <= 0) continue;
      chosen = n;
      if (left < row[n]) break;
      left -= row[n];
    }
    index[m] = chosen;
  }
}
