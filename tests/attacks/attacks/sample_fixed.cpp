// Draws with a random number of its own that depends on the row alone: right in distribution over
// fresh rows, and always the same for one row.
// expect: wrong_value
// class: W29
// problem: categorical_sample
extern "C" void run(const float* probability, const float* uniform, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = probability + m * N;
    float total = 0;
    for (int64_t n = 0; n < N; ++n) total += row[n];
    uint32_t bits = 0;
    __builtin_memcpy(&bits, row, sizeof bits);
    bits *= 2654435761u;
    bits ^= bits >> 15;
    float left = total * ((bits >> 8) / 16777216.0f);
    int64_t n = 0;
    while (n < N - 1 && left >= row[n]) left -= row[n++];
    index[m] = n;
  }
}
