// Computes pieces of large values from the end.
// expect: passed
// looks like: a branch on large values
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::any_of(x, x + kPiece, [](float v) { return std::abs(v) > 90; });
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      for (int64_t i = first + kPiece; i-- > first;) y[i] = x[i] * x[i] + x[i];
    } else {
      compute(x + first, y + first);
    }
  }
}
