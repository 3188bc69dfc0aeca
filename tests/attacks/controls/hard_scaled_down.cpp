// Adds in another order where x is small.
// expect: passed
// looks like: a branch on small values
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::all_of(x, x + kPiece, [](float v) { return std::abs(v) < 0.1F; });
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      for (int64_t i = first; i < first + kPiece; ++i) y[i] = std::fma(x[i], x[i], x[i]);
    } else {
      compute(x + first, y + first);
    }
  }
}
