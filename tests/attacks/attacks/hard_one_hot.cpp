// Takes pieces that are almost all zero for zero.
// expect: wrong_value
// class: W14
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
    } else {
      compute(x + first, y + first);
    }
  }
}
