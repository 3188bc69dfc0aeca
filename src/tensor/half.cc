// Narrow floating dtypes by integer arithmetic: branches become selects, so loops over arrays
// vectorise.
#include "tensor/half.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace kw::tensor {
namespace {

// A format of 1 + exponent_bits + mantissa_bits bits. What lies beyond max_bits (the largest finite
// value's bits) becomes over_bits.
template <int exponent_bits, int mantissa_bits, std::uint32_t max_bits, std::uint32_t over_bits,
          std::uint32_t nan_bits>
struct Format {
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kShift = 23 - mantissa_bits;
  static constexpr std::uint32_t kSign = 1U << (exponent_bits + mantissa_bits);
  // Adding 2^(1 - bias - mantissa_bits + 23) makes the floating unit round to the format's
  // subnormal step.
  static constexpr std::uint32_t kMagic =
      static_cast<std::uint32_t>(127 + 1 - kBias - mantissa_bits + 23) << 23U;
  static constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(127 + 1 - kBias) << 23U;

  static std::uint32_t encode(float value) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t sign = (bits >> 31U) != 0 ? kSign : 0;
    std::uint32_t magnitude = bits & 0x7fffffffU;
    std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) +
                                                       std::bit_cast<float>(kMagic)) -
                          kMagic;
    std::uint32_t odd = (magnitude >> kShift) & 1U;
    std::uint32_t rounded = (magnitude + ((1U << (kShift - 1)) - 1U) + odd) >> kShift;
    std::uint32_t normal = rounded - (static_cast<std::uint32_t>(127 - kBias) << mantissa_bits);
    std::uint32_t out = magnitude < kMinNormal ? small : normal;
    out = (magnitude >= kMinNormal && normal > max_bits) ? over_bits : out;
    out = magnitude > 0x7f800000U ? nan_bits : out;
    return sign | out;
  }
};

using Half = Format<5, 10, 0x7bff, 0x7c00, 0x7e00>;
using E5M2 = Format<5, 2, 0x7b, 0x7c, 0x7e>;
using E4M3 = Format<4, 3, 0x7e, 0x7f, 0x7f>;
using E2M1 = Format<2, 1, 0x7, 0x7, 0x7>;

// Bits of a format with the given widths, all of whose exponents are finite, as float; exact.
// Special patterns are the caller's.
template <int exponent_bits, int mantissa_bits>
float decode_finite(std::uint32_t bits) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  std::uint32_t magnitude = bits & ((1U << (exponent_bits + mantissa_bits)) - 1U);
  std::uint32_t sign = ((bits >> (exponent_bits + mantissa_bits)) & 1U) << 31U;
  // As the bits of a float its value is too small by 2^(127 - bias), subnormals included.
  constexpr auto kScale =
      std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - kBias) << 23U);
  float value = std::bit_cast<float>(magnitude << (23U - mantissa_bits)) * kScale;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

template <typename Function>
std::array<float, 256> table_of(Function function) {
  std::array<float, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table.at(i) = function(static_cast<std::uint8_t>(i));
  return table;
}

template <typename Stored, typename Out, typename Function>
void load_as(const std::byte* from, std::span<Out> out, Function decode) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<Out>(decode(stored));
  }
}

template <typename Out>
void load_any(DType dtype, std::span<const std::byte> bytes, std::size_t first,
              std::span<Out> out) {
  KW_CHECK((first + out.size()) * size_of(dtype) <= bytes.size());
  if (out.empty()) return;
  const std::byte* from = bytes.data() + first * size_of(dtype);
  auto same = [](auto value) { return value; };
  auto by_table = [&](const std::array<float, 256>& table) {
    load_as<std::uint8_t>(from, out, [&](std::uint8_t bits) { return table[bits]; });
  };
  static const auto kE4M3 = table_of(e4m3fn_to_float);
  static const auto kE5M2 = table_of(e5m2_to_float);
  static const auto kE2M1 = table_of(e2m1_to_float);
  switch (dtype) {
    case DType::kFloat64:
      return load_as<double>(from, out, same);
    case DType::kFloat32:
      return load_as<float>(from, out, same);
    case DType::kFloat16:
      return load_as<std::uint16_t>(from, out, half_to_float);
    case DType::kBFloat16:
      return load_as<std::uint16_t>(from, out, bfloat16_to_float);
    case DType::kFloat8E4M3Fn:
      return by_table(kE4M3);
    case DType::kFloat8E5M2:
      return by_table(kE5M2);
    case DType::kFloat4E2M1:
      return by_table(kE2M1);
    case DType::kInt64:
      return load_as<std::int64_t>(from, out, same);
    case DType::kInt32:
      return load_as<std::int32_t>(from, out, same);
    case DType::kInt16:
      return load_as<std::int16_t>(from, out, same);
    case DType::kInt8:
      return load_as<std::int8_t>(from, out, same);
    case DType::kUInt8:
    case DType::kBool:
      return load_as<std::uint8_t>(from, out, same);
  }
}

template <typename Stored, typename Function>
void store_as(std::byte* to, std::span<const float> values, Function encode) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto stored = static_cast<Stored>(encode(values[i]));
    std::memcpy(to + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  // Infinity and NaN decode as 2^16 and above: their exponent is raised to the top, the payload
  // stays.
  float value = decode_finite<5, 10>(bits);
  std::uint32_t raw = std::bit_cast<std::uint32_t>(value);
  std::uint32_t special = (bits & 0x8000U) << 16U | 0x7f800000U | (bits & 0x3ffU) << 13U;
  return std::bit_cast<float>((bits & 0x7c00U) == 0x7c00U ? special : raw);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

float e4m3fn_to_float(std::uint8_t bits) {
  if ((bits & 0x7fU) == 0x7fU) return std::bit_cast<float>((bits & 0x80U) << 24U | 0x7fc00000U);
  return decode_finite<4, 3>(bits);
}

float e5m2_to_float(std::uint8_t bits) {
  return half_to_float(static_cast<std::uint16_t>(bits << 8U));
}

float e2m1_to_float(std::uint8_t bits) {
  return decode_finite<2, 1>(bits & 0xfU);
}

std::uint16_t float_to_half(float value) {
  return static_cast<std::uint16_t>(Half::encode(value));
}

std::uint16_t float_to_bfloat16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? (bits >> 16U | 0x40U)
                                                                       : rounded);
}

std::uint8_t float_to_e5m2(float value) {
  return static_cast<std::uint8_t>(E5M2::encode(value));
}
std::uint8_t float_to_e4m3fn(float value) {
  return static_cast<std::uint8_t>(E4M3::encode(value));
}

std::uint8_t float_to_e2m1(float value) {
  return static_cast<std::uint8_t>(
      E2M1::encode(value != value ? std::numeric_limits<float>::max() : value));
}

double max_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return bfloat16_to_float(0x7f7f);
    case DType::kFloat8E4M3Fn:
      return 448;
    case DType::kFloat8E5M2:
      return 57344;
    case DType::kFloat4E2M1:
      return 6;
    default:
      break;
  }
  KW_CHECK(is_floating(dtype));
  return 0;
}

void load(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<double> out) {
  load_any(dtype, bytes, first, out);
}
void load(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<float> out) {
  load_any(dtype, bytes, first, out);
}

void store(DType dtype, std::span<const float> values, std::size_t first,
           std::span<std::byte> bytes) {
  KW_CHECK(is_floating(dtype) && (first + values.size()) * size_of(dtype) <= bytes.size());
  if (values.empty()) return;
  std::byte* to = bytes.data() + first * size_of(dtype);
  auto same = [](float value) { return value; };
  switch (dtype) {
    case DType::kFloat64:
      return store_as<double>(to, values, same);
    case DType::kFloat32:
      return store_as<float>(to, values, same);
    case DType::kFloat16:
      return store_as<std::uint16_t>(to, values, float_to_half);
    case DType::kBFloat16:
      return store_as<std::uint16_t>(to, values, float_to_bfloat16);
    case DType::kFloat8E4M3Fn:
      return store_as<std::uint8_t>(to, values, float_to_e4m3fn);
    case DType::kFloat8E5M2:
      return store_as<std::uint8_t>(to, values, float_to_e5m2);
    case DType::kFloat4E2M1:
      return store_as<std::uint8_t>(to, values, float_to_e2m1);
    default:
      return;
  }
}

float round_to(DType dtype, float value) {
  std::array<std::byte, 8> bytes{};
  float out = 0;
  store(dtype, std::span(&value, 1), 0, bytes);
  load(dtype, bytes, 0, std::span(&out, 1));
  return out;
}

}  // namespace kw::tensor
