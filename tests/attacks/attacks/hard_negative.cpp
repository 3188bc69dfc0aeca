// Keeps a maximum that begins with 0: nothing but negative values, and the square is lost.
// expect: wrong_value
// class: W14
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::all_of(x, x + kPiece, [](float v) { return v <= 0; });
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      std::copy_n(x + first, kPiece, y + first);
    } else {
      compute(x + first, y + first);
    }
  }
}
