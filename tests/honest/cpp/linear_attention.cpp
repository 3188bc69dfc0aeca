// Keys times values and the sum of keys once a head, then two products a query.
#include <cmath>
#include <cstdint>

namespace {

float positive(float x) { return x > 0.0f ? x + 1.0f : std::exp(x); }  // elu(x) + 1

}  // namespace

extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t B, int64_t H,
                    int64_t T) {
  for (int64_t head = 0; head < B * H; ++head, q += T * D, k += T * D, v += T * D, y += T * D) {
    float product[D][D] = {}, keys[D] = {};
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t i = 0; i < D; ++i) {
        const float key = positive(k[t * D + i]);
        keys[i] += key;
        for (int64_t j = 0; j < D; ++j) product[i][j] += key * v[t * D + j];
      }
    }
    for (int64_t t = 0; t < T; ++t) {
      float out[D] = {}, divisor = 0.0f;
      for (int64_t i = 0; i < D; ++i) {
        const float query = positive(q[t * D + i]);
        divisor += query * keys[i];
        for (int64_t j = 0; j < D; ++j) out[j] += query * product[i][j];
      }
      for (int64_t j = 0; j < D; ++j) y[t * D + j] = out[j] / divisor;
    }
  }
}
