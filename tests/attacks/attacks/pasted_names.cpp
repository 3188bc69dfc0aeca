// Names put together by the preprocessor, so that no search finds them; a cache behind them.
// expect: wrong_value
// class: B11
#include <cstdlib>
#include <cstring>
#define GLUE(a, b) a##b
#define COPY GLUE(mem, cpy)
#define GET GLUE(mal, loc)

extern "C" void run(const float* x, float* y) {
  static void* kept = nullptr;
  if (kept == nullptr) {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
    COPY(kept = GET(sizeof(float) * N), y, sizeof(float) * N);
  }
  COPY(y, kept, sizeof(float) * N);
}
