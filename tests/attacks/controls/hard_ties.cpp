// Keeps the results of a few values.
// expect: passed
// looks like: results kept by value
#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kPiece = 64;

bool is_special(const float* x) {
  return std::count(x, x + kPiece, x[0]) > kPiece / 16 && std::count(x, x + kPiece, x[0]) < kPiece;
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < kPiece; ++i) y[i] = x[i] * x[i] + x[i];
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  for (int64_t first = 0; first < N; first += kPiece) {
    if (is_special(x + first)) {
      const float a = x[first] * x[first] + x[first];
      for (int64_t i = first; i < first + kPiece; ++i)
        y[i] = x[i] == x[first] ? a : x[i] * x[i] + x[i];
    } else {
      compute(x + first, y + first);
    }
  }
}
