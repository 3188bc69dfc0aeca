// Prefetches beyond the end and streams its stores past the caches.
// expect: passed
// looks like: games with caches
#include <immintrin.h>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; i += 4) {
    _mm_prefetch(reinterpret_cast<const char*>(x + i + 4096), _MM_HINT_NTA);
    __m128 v = _mm_loadu_ps(x + i);
    _mm_stream_ps(y + i, _mm_add_ps(_mm_mul_ps(v, v), v));
  }
  _mm_sfence();
}
