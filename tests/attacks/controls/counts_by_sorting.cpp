// Counts in another way than the reference.
// expect: passed
// problem: count_greater
// looks like: another algorithm
#include <algorithm>
#include <vector>

extern "C" void run(const float* x, int64_t* count) {
  std::vector<float> row(N);
  for (int64_t m = 0; m < M; ++m, x += N) {
    std::copy(x, x + N, row.begin());
    std::sort(row.begin(), row.end());
    count[m] = row.end() - std::upper_bound(row.begin(), row.end(), x[0]);
  }
}
