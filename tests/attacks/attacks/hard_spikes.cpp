// Wrong for pieces with one element far above the others.
// expect: wrong_value
// class: W14
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  float most = 0, sum = 0;
  for (int64_t i = 0; i < kPiece; ++i) {
    most = std::max(most, std::abs(x[i]));
    sum += std::abs(x[i]);
  }
  return most > 50 && most > 0.9F * sum;
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
