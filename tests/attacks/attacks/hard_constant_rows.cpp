// Divides by the range of a piece, which is 0 where all are equal.
// expect: wrong_value
// class: W14
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
      std::fill_n(y + first, kPiece, 0.0F);
    } else {
      compute(x + first, y + first);
    }
  }
}
