// Division, nearbyintf (halves to even), clamp.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float scale, int32_t zero_point, int8_t* q, int64_t M,
                    int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) {
    float v = std::nearbyint(x[i] / scale) + static_cast<float>(zero_point);
    q[i] = static_cast<int8_t>(std::min(std::max(v, -128.0f), 127.0f));
  }
}
