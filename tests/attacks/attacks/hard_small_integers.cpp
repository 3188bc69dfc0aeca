// Rounds twice what is a whole number of quarters.
// expect: wrong_value
// class: W14
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::all_of(x, x + kPiece, [](float v) { return v * 4 == std::round(v * 4); }) &&
         std::count(x, x + kPiece, x[0]) < kPiece && std::count(x, x + kPiece, 0.0F) < kPiece - 1;
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      for (int64_t i = first; i < first + kPiece; ++i) y[i] = std::round(x[i]) * x[i] + x[i];
    } else {
      compute(x + first, y + first);
    }
  }
}
