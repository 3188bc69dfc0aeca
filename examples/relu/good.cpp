// ReLU with streaming stores: the result is not read again here, so it need not pass through the
// caches.
#include <cstdint>

#include <xmmintrin.h>

namespace {
// Below this many elements the result fits the caches and plain stores are faster.
constexpr int64_t kStreamFrom = 1 << 18;
}  // namespace

extern "C" void run(const float* x, float* y, int64_t N) {
  int64_t streamed = 0;
  if (N >= kStreamFrom) {
    streamed = N / 16 * 16;
    const __m128 zero = _mm_setzero_ps();
    for (int64_t i = 0; i < streamed; i += 16) {
      for (int64_t lane = 0; lane < 16; lane += 4) {
        // max(0, x) gives x when x is NaN, as torch does.
        _mm_stream_ps(y + i + lane, _mm_max_ps(zero, _mm_load_ps(x + i + lane)));
      }
    }
    _mm_sfence();
  }
  for (int64_t i = streamed; i < N; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
