// Tests of the narrow floating dtypes: every code, and every rounding boundary between neighbouring
// codes.
#include "tensor/half.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace kw::tensor {
namespace {

struct Narrow {
  DType dtype;
  int exponent_bits, mantissa_bits;
  std::uint32_t codes;  // number of non-negative codes
  bool has_infinity;
  std::uint32_t first_special;  // first non-negative code that is no finite number
};

const std::vector<Narrow> kNarrow = {
    {DType::kFloat16, 5, 10, 0x8000, true, 0x7c00}, {DType::kBFloat16, 8, 7, 0x8000, true, 0x7f80},
    {DType::kFloat8E5M2, 5, 2, 0x80, true, 0x7c},   {DType::kFloat8E4M3Fn, 4, 3, 0x80, false, 0x7f},
    {DType::kFloat4E2M1, 2, 1, 0x8, false, 0x8},
};

// The definition of the format, in double: independent of the bit tricks under test.
double value_of(const Narrow& format, std::uint32_t code) {
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  auto exponent = static_cast<int>(code >> static_cast<unsigned>(format.mantissa_bits));
  double fraction =
      static_cast<double>(code & ((1U << static_cast<unsigned>(format.mantissa_bits)) - 1U)) /
      static_cast<double>(1U << static_cast<unsigned>(format.mantissa_bits));
  return exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
}

std::uint32_t code_of(const Narrow& format, float value) {
  std::vector<std::byte> bytes(size_of(format.dtype));
  store(format.dtype, std::span(&value, 1), 0, bytes);
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data(), bytes.size());
  return code;
}

float decoded(const Narrow& format, std::uint32_t code) {
  std::vector<std::byte> bytes(size_of(format.dtype));
  std::memcpy(bytes.data(), &code, bytes.size());
  float out = 0;
  load(format.dtype, bytes, 0, std::span(&out, 1));
  return out;
}

TEST(Half, EveryCodeDecodesToItsDefinitionAndEncodesBack) {
  for (const Narrow& format : kNarrow) {
    std::uint32_t sign = format.codes;
    for (std::uint32_t code = 0; code < format.first_special; ++code) {
      ASSERT_EQ(decoded(format, code), value_of(format, code))
          << to_string(format.dtype) << " " << code;
      ASSERT_EQ(decoded(format, code | sign), -value_of(format, code));
      ASSERT_EQ(code_of(format, decoded(format, code)), code) << to_string(format.dtype);
      ASSERT_EQ(code_of(format, -decoded(format, code)), code | sign) << to_string(format.dtype);
    }
    EXPECT_EQ(max_of(format.dtype), value_of(format, format.first_special - 1));
  }
}

TEST(Half, RoundsToNearestEvenAtEveryBoundary) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Narrow& format : kNarrow) {
    for (std::uint32_t code = 0; code + 1 < format.first_special; ++code) {
      auto middle = static_cast<float>((value_of(format, code) + value_of(format, code + 1)) / 2);
      ASSERT_EQ(code_of(format, middle), code + (code & 1U))
          << to_string(format.dtype) << " tie after " << code;
      ASSERT_EQ(code_of(format, std::nextafter(middle, 0.0F)), code)
          << to_string(format.dtype) << " below " << code;
      ASSERT_EQ(code_of(format, std::nextafter(middle, infinity)), code + 1)
          << to_string(format.dtype);
    }
  }
}

TEST(Half, BeyondTheLargestValue) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(float_to_half(65519.996F), 0x7bff);  // just below the middle to 2^16
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_half(-infinity), 0xfc00);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_e5m2(61440.0F), 0x7c);  // the middle between 57344 and 2^16: even is infinity
  EXPECT_EQ(float_to_e5m2(61439.0F), 0x7b);
  EXPECT_EQ(float_to_e4m3fn(464.0F), 0x7e);  // the middle between 448 and 480: even is 448
  EXPECT_EQ(float_to_e4m3fn(465.0F), 0x7f);
  EXPECT_EQ(float_to_e4m3fn(infinity), 0x7f);
  EXPECT_EQ(float_to_e2m1(1e30F), 0x7);
  EXPECT_EQ(float_to_e2m1(-infinity), 0xf);
  EXPECT_EQ(float_to_e2m1(nan), 0x7);
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3Fn, DType::kFloat8E5M2,
                      DType::kFloat32, DType::kFloat64}) {
    EXPECT_TRUE(std::isnan(round_to(dtype, nan))) << to_string(dtype);
  }
  EXPECT_EQ(round_to(DType::kFloat16, -infinity), -infinity);
  // A NaN whose payload lies in the dropped bits only must not become infinity.
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Half, LoadReadsEveryDtypeFromAnyElement) {
  std::vector<std::byte> bytes(16);
  std::int16_t values[3] = {7, -32768, 12};
  std::memcpy(bytes.data(), values, sizeof values);
  double out[2];
  load(DType::kInt16, bytes, 1, out);
  EXPECT_EQ(out[0], -32768);
  EXPECT_EQ(out[1], 12);
  std::int64_t big = (std::int64_t{1} << 53) - 1;
  std::memcpy(bytes.data() + 8, &big, sizeof big);
  load(DType::kInt64, bytes, 1, std::span(out, 1));
  EXPECT_EQ(out[0], 9007199254740991.0);
}

}  // namespace
}  // namespace kw::tensor
