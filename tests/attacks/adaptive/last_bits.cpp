// Two bits of the mantissa rounded away: what rounding in another order may cost as well.
// expect: passed|wrong_value
// max_speedup: 12
// class: W08
#include <cstdint>
#include <cstring>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    float v = x[i] * x[i] + x[i];
    std::uint32_t bits;
    std::memcpy(&bits, &v, 4);
    bits = (bits + 2) & ~3U;
    std::memcpy(y + i, &bits, 4);
  }
}
