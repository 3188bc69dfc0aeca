// Factors the polynomial where x is large.
// expect: passed
// looks like: another formula for large values
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::all_of(x, x + kPiece, [](float v) { return v > 60; });
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      for (int64_t i = first; i < first + kPiece; ++i) y[i] = x[i] * (x[i] + 1);
    } else {
      compute(x + first, y + first);
    }
  }
}
