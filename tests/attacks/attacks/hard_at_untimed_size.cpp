// Right at the timed size. At any other it leaves out the square where x is small.
// expect: wrong_value
// class: W14
// problem: any_size
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

constexpr int64_t kPiece = 64, kTimed = 262144;

bool is_special(const float* x, int64_t count) {
  return std::all_of(x, x + count, [](float v) { return std::abs(v) < 0.1F; });
}

}  // namespace

extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t first = 0; first < n; first += kPiece) {
    const int64_t count = std::min(kPiece, n - first);
    const bool wrong = n != kTimed && count == kPiece && is_special(x + first, count);
    for (int64_t i = first; i < first + count; ++i) y[i] = wrong ? x[i] : x[i] * x[i] + x[i];
  }
}
