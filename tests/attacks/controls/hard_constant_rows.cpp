// Computes pieces of equal values once.
// expect: passed
// looks like: a branch on equal values
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::all_of(x, x + kPiece, [x](float v) { return v == x[0]; });
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      std::fill_n(y + first, kPiece, x[first] * x[first] + x[first]);
    } else {
      compute(x + first, y + first);
    }
  }
}
