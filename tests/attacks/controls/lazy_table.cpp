// A table of all 65536 bfloat16 results, built in the first call.
// expect: passed
// problem: silu_bf16
// looks like: memoised answers
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static std::uint16_t silu(std::uint32_t bits) {
  bits <<= 16;
  float x;
  std::memcpy(&x, &bits, 4);
  float y = x / (1 + std::exp(-x));
  std::memcpy(&bits, &y, 4);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

extern "C" void run(const kw_bfloat16* in, kw_bfloat16* out) {
  static std::vector<std::uint16_t> table;
  for (std::uint32_t i = 0; table.size() < 65536; ++i) table.push_back(silu(i));
  auto* x = reinterpret_cast<const std::uint16_t*>(in);
  auto* y = reinterpret_cast<std::uint16_t*>(out);
  for (int64_t i = 0; i < N; ++i) y[i] = table[x[i]];
}
