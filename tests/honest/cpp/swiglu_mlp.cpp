// The hidden row of a sample stays in a buffer between the two products.
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

}  // namespace

extern "C" void run(const float* x, const float* gate, const float* up, const float* down, float* y,
                    int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float left[H] = {}, right[H] = {};
    add_product(x + m * D, gate, D, H, left);
    add_product(x + m * D, up, D, H, right);
    for (int64_t h = 0; h < H; ++h) left[h] *= right[h] / (1.0f + std::exp(-left[h]));
    std::fill_n(y + m * D, D, 0.0f);
    add_product(left, down, H, D, y + m * D);
  }
}
