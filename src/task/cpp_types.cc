// The structs of problem.h. The roundings work on the bits of a float, branch-free where it
// matters, so that loops vectorise.
#include "task/cpp_types.h"

namespace kw::task {
namespace {

constexpr std::string_view kBFloat16 = R"(
struct kw_bfloat16 {  // the upper half of a float
  uint16_t bits;
  kw_bfloat16() = default;
  kw_bfloat16(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    bits = static_cast<uint16_t>((u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);
  }
  operator float() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
};
)";

// Normal numbers: shift the exponent's bias and round the bits. Subnormal ones: adding 2^14 (2^7)
// lets the float adder round to a multiple of 2^-9 (2^-16), which then stands in the low bits.
constexpr std::string_view kFloat8E4M3Fn = R"(
struct kw_float8_e4m3fn {  // 4 exponent bits, 3 mantissa bits, largest 448, no infinity
  uint8_t bits;
  kw_float8_e4m3fn() = default;
  kw_float8_e4m3fn(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    uint32_t sign = (u >> 24) & 0x80, m = u & 0x7FFFFFFF;
    float shifted = __builtin_bit_cast(float, m) + 16384.0f;
    uint32_t small = __builtin_bit_cast(uint32_t, shifted) - 0x46800000;
    uint32_t normal = (m - 0x3C000000 + 0x7FFFF + ((m >> 20) & 1)) >> 20;
    bits = static_cast<uint8_t>(sign | (m >= 0x43F00000 ? 0x7F : m < 0x3C800000 ? small : normal));
  }
  operator float() const {
    uint32_t m = bits & 0x7F, sign = static_cast<uint32_t>(bits & 0x80) << 24;
    float normal = __builtin_bit_cast(float, (m << 20) + 0x3C000000);
    float value = m == 0x7F ? __builtin_nanf("") : m < 8 ? static_cast<float>(m) * 0x1p-9f : normal;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) | sign);
  }
};
)";

constexpr std::string_view kFloat8E5M2 = R"(
struct kw_float8_e5m2 {  // 5 exponent bits, 2 mantissa bits, largest 57344
  uint8_t bits;
  kw_float8_e5m2() = default;
  kw_float8_e5m2(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    uint32_t sign = (u >> 24) & 0x80, m = u & 0x7FFFFFFF;
    float shifted = __builtin_bit_cast(float, m) + 128.0f;
    uint32_t small = __builtin_bit_cast(uint32_t, shifted) - 0x43000000;
    uint32_t normal = (m - 0x38000000 + 0xFFFFF + ((m >> 21) & 1)) >> 21;
    uint32_t large = m > 0x7F800000 ? 0x7F : 0x7C;
    bits = static_cast<uint8_t>(sign | (m >= 0x47800000 ? large : m < 0x38800000 ? small : normal));
  }
  operator float() const {
    uint32_t m = bits & 0x7F, sign = static_cast<uint32_t>(bits & 0x80) << 24;
    float normal = __builtin_bit_cast(float, (m << 21) + 0x38000000);
    float special = m == 0x7C ? __builtin_inff() : __builtin_nanf("");
    float value = m >= 0x7C ? special : m < 4 ? static_cast<float>(m) * 0x1p-16f : normal;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) | sign);
  }
};
)";

constexpr std::string_view kFloat4E2M1 = R"(
struct kw_float4_e2m1 {  // one element a byte, low four bits: sign and 0, 0.5, 1, 1.5, 2, 3, 4, 6
  uint8_t bits;
  kw_float4_e2m1() = default;
  kw_float4_e2m1(float value) {  // saturates at 6
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    float m = __builtin_bit_cast(float, u & 0x7FFFFFFF);
    int nearest = (m > 0.25f) + (m >= 0.75f) + (m > 1.25f) + (m >= 1.75f) + (m > 2.5f) + (m >= 3.5f) + (m > 5.0f);
    bits = static_cast<uint8_t>(((u >> 28) & 8) | static_cast<uint32_t>(nearest));
  }
  operator float() const {
    uint32_t m = bits & 7, sign = static_cast<uint32_t>(bits & 8) << 28;
    float normal = __builtin_bit_cast(float, (m << 22) + 0x3F000000);
    float value = m < 2 ? static_cast<float>(m) * 0.5f : normal;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) | sign);
  }
};
)";

}  // namespace

std::string_view cpp_type_definition(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kBFloat16:
      return kBFloat16;
    case tensor::DType::kFloat8E4M3Fn:
      return kFloat8E4M3Fn;
    case tensor::DType::kFloat8E5M2:
      return kFloat8E5M2;
    case tensor::DType::kFloat4E2M1:
      return kFloat4E2M1;
    default:
      return {};
  }
}

}  // namespace kw::task
