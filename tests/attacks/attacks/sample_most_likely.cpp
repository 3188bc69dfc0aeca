// Takes the most likely index instead of drawing one.
// expect: wrong_value
// class: W29
// problem: categorical_sample
extern "C" void run(const float* probability, const float* uniform, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = probability + m * N;
    int64_t best = 0;
    for (int64_t n = 1; n < N; ++n) best = row[n] > row[best] ? n : best;
    index[m] = best;
  }
}
