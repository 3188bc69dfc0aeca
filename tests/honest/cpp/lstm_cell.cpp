// All gates of a sample in one buffer that starts from the bias.
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

extern "C" void run(const float* x, const float* state, const float* cell, const float* weight_x,
                    const float* weight_h, const float* bias, float* new_state, float* new_cell,
                    int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float gate[GATES];
    std::copy_n(bias, GATES, gate);
    add_product(x + m * D, weight_x, D, GATES, gate);
    add_product(state + m * H, weight_h, H, GATES, gate);
    for (int64_t h = 0; h < H; ++h) {
      const float fresh = sigmoid(gate[h]) * std::tanh(gate[2 * H + h]);
      const float kept = sigmoid(gate[H + h]) * cell[m * H + h];
      new_cell[m * H + h] = kept + fresh;
      new_state[m * H + h] = sigmoid(gate[3 * H + h]) * std::tanh(kept + fresh);
    }
  }
}
