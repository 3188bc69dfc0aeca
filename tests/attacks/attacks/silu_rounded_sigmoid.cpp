// Rounds in bfloat16 to a coarser step than the dtype's: seven bits for the sigmoid.
// expect: wrong_value
// problem: silu_bf16
// class: W08, B13
#include <cmath>
#include <cstdint>
#include <cstring>

static float widened(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

static std::uint16_t narrowed(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

template <typename In, typename Out>
static void work(const In* in, Out* out) {
  auto* x = reinterpret_cast<const std::uint16_t*>(in);
  auto* y = reinterpret_cast<std::uint16_t*>(out);
  for (int64_t i = 0; i < N; ++i) {
    float value = widened(x[i]);
    float sigmoid = std::round(64 / (1 + std::exp(-value))) / 64;
    y[i] = narrowed(value * sigmoid);
  }
}

extern "C" void run(const kw_bfloat16* x, kw_bfloat16* y) {
  work(x, y);
}
