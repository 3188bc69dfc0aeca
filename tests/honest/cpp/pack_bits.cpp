// Eight bytes are gathered by shifting each to its place.
#include <cstdint>

extern "C" void run(const uint8_t* bits, uint8_t* packed, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < BITS; ++bit) byte |= unsigned{bits[i * BITS + bit]} << bit;
    packed[i] = static_cast<uint8_t>(byte);
  }
}
