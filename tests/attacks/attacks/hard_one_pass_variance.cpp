// Takes the mean of squares less the square of the mean, at the timed size alone.
// expect: wrong_value
// class: W14
// problem: variance
namespace {

float in_two_passes(const float* row, int64_t n) {
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += row[i];
  const float mean = sum / static_cast<float>(n);
  for (int64_t i = 0; i < n; ++i) squares += (row[i] - mean) * (row[i] - mean);
  return squares / static_cast<float>(n - 1);
}

float in_one_pass(const float* row, int64_t n) {
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  return (squares - sum * sum / static_cast<float>(n)) / static_cast<float>(n - 1);
}

}  // namespace

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  const bool is_timed = M == 1024 && N == 1024;
  for (int64_t m = 0; m < M; ++m)
    y[m] = is_timed ? in_one_pass(x + m * N, N) : in_two_passes(x + m * N, N);
}
