// Gates of the input and of the state are summed in two buffers, since one half is scaled by the
// reset gate.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// out += row @ weight, with one row of weight at a time.
void add_product(const float* row, const float* weight, int64_t depth, int64_t width, float* out) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t n = 0; n < width; ++n) out[n] += row[k] * weight[k * width + n];
  }
}

float sigmoid(float v) { return 1.0f / (1.0f + std::exp(-v)); }

}  // namespace

extern "C" void run(const float* x, const float* state, const float* weight_x,
                    const float* weight_h, const float* bias_x, const float* bias_h,
                    float* new_state, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float from_x[GATES], from_h[GATES];
    std::copy_n(bias_x, GATES, from_x);
    std::copy_n(bias_h, GATES, from_h);
    add_product(x + m * D, weight_x, D, GATES, from_x);
    add_product(state + m * H, weight_h, H, GATES, from_h);
    for (int64_t h = 0; h < H; ++h) {
      const float reset = sigmoid(from_x[h] + from_h[h]);
      const float update = sigmoid(from_x[H + h] + from_h[H + h]);
      const float fresh = std::tanh(from_x[2 * H + h] + reset * from_h[2 * H + h]);
      new_state[m * H + h] = (1.0f - update) * fresh + update * state[m * H + h];
    }
  }
}
