// Saturates beyond 90, far from all that a normal draw gives.
// expect: wrong_value
// class: W14
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
      for (int64_t i = first; i < first + kPiece; ++i) {
        const float v = std::clamp(x[i], -90.0F, 90.0F);
        y[i] = v * v + v;
      }
    } else {
      compute(x + first, y + first);
    }
  }
}
