// Draws with the given random number, but every index with the same probability.
// expect: wrong_value
// class: W29
// problem: categorical_sample
extern "C" void run(const float* probability, const float* uniform, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    int64_t n = int64_t(uniform[m] * N);
    index[m] = n < N ? n : N - 1;
  }
}
