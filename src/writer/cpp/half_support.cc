#include "writer/cpp/half_support.h"

namespace kw::writer {
namespace {

// As the value of another type: structures and _Float16 keep loops from being vectorised.
constexpr const char* kBFloat16 = R"text(typedef uint16_t kw_bits __attribute__((may_alias));
inline float kw_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t kw_to_bfloat16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? 0x7fc0 : rounded);
}
)text";

// Subnormals by a product that is exact; to nearest even by a sum with a number of the result's
// last place.
constexpr const char* kFloat16 = R"text(typedef uint16_t kw_bits __attribute__((may_alias));
inline float kw_from_float16(uint16_t bits) {
  const uint32_t rest = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f);
  return std::bit_cast<float>((rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : finite) | sign);
}
inline uint16_t kw_to_float16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x), rest = u & 0x7fffffffu;
  const uint32_t normal = (rest + 0xfffu + ((rest >> 13) & 1u) - 0x38000000u) >> 13;
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  uint32_t out = rest < 0x38800000u ? small : normal;
  out = rest >= 0x477ff000u ? 0x7c00u : out;
  out = rest > 0x7f800000u ? 0x7e00u : out;
  return static_cast<uint16_t>(out | ((u >> 16) & 0x8000u));
}
)text";

// Eight at a time where the machine has them.
constexpr const char* kLines = R"text(template <typename Half>
inline void kw_line_from_float16(const Half* from, float* to, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < count; ++i) to[i] = kw_from_float16(*reinterpret_cast<const kw_bits*>(from + i));
}
template <typename Half>
inline void kw_line_to_float16(const float* from, Half* to, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) *reinterpret_cast<kw_bits*>(to + i) = kw_to_float16(from[i]);
}
)text";

}  // namespace

const std::map<std::string, std::string>& half_functions() {
  static const std::map<std::string, std::string> all = {
      {"kw_bfloat16", kBFloat16}, {"kw_float16", kFloat16}, {"kw_lines_of_float16", kLines}};
  return all;
}

}  // namespace kw::writer
