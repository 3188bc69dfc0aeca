// Both distances in one pass; 1e-6 is added to each difference as the definition of the distance
// says.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* anchor, const float* positive, const float* negative, float* loss,
                    int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* a = anchor + m * D;
    const float* p = positive + m * D;
    const float* n = negative + m * D;
    float near = 0.0f, far = 0.0f;
    for (int64_t d = 0; d < D; ++d) {
      const float to_p = a[d] - p[d] + 1e-6f, to_n = a[d] - n[d] + 1e-6f;
      near += to_p * to_p;
      far += to_n * to_n;
    }
    loss[m] = std::max(std::sqrt(near) - std::sqrt(far) + 1.0f, 0.0f);
  }
}
