// Pieces with one element far above the others are computed in double.
// expect: passed
// looks like: a branch on the values
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
      for (int64_t i = first; i < first + kPiece; ++i)
        y[i] = static_cast<float>(static_cast<double>(x[i]) * x[i] + x[i]);
    } else {
      compute(x + first, y + first);
    }
  }
}
