// Each byte gives two neighbours; zero point subtracted before scaling.
#include <cstdint>

extern "C" void run(const uint8_t* packed, const float* scale, const float* zero_point, float* y,
                    int64_t M, int64_t G) {
  for (int64_t group = 0; group < M * G; ++group) {
    const uint8_t* source = packed + group * BYTES;
    float* out = y + group * D;
    for (int64_t i = 0; i < BYTES; ++i) {
      out[2 * i] = (static_cast<float>(source[i] & 15) - zero_point[group]) * scale[group];
      out[2 * i + 1] = (static_cast<float>(source[i] >> 4) - zero_point[group]) * scale[group];
    }
  }
}
