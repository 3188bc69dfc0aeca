// Sorts the indices of each row, then keeps from the largest on while the sum before is small.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

extern "C" void run(const float* weight, float p, uint8_t* kept, int64_t M, int64_t N) {
  std::vector<int64_t> order(N);
  for (int64_t m = 0; m < M; ++m) {
    const float* row = weight + m * N;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [row](int64_t a, int64_t b) { return row[a] > row[b]; });
    float total = 0.0f;
    for (int64_t n = 0; n < N; ++n) total += row[n];
    float before = 0.0f;
    for (int64_t place : order) {
      kept[m * N + place] = before < p * total;
      before += row[place];
    }
  }
}
