// Looks for the few elements of sparse pieces.
// expect: passed
// looks like: a branch on zeros
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::count(x, x + kPiece, 0.0F) >= kPiece - 1;
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      std::fill_n(y + first, kPiece, 0.0F);
      for (int64_t i = first; i < first + kPiece; ++i)
        if (x[i] != 0) y[i] = x[i] * x[i] + x[i];
    } else {
      compute(x + first, y + first);
    }
  }
}
