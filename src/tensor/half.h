// Conversions between float32 and the narrow floating dtypes. Encoding rounds to nearest, ties to
// even (IEEE 754-2019, 4.3.1). Bit layouts: IEEE binary16; bfloat16 (the upper half of binary32);
// OCP 8-bit floating point rev. 1.0 (E4M3 without infinities, E5M2 with); OCP microscaling rev. 1.0
// (E2M1 with neither, one element a byte here).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace kw::tensor {

float half_to_float(std::uint16_t bits);
float bfloat16_to_float(std::uint16_t bits);
float e4m3fn_to_float(std::uint8_t bits);
float e5m2_to_float(std::uint8_t bits);
float e2m1_to_float(std::uint8_t bits);  // the upper four bits are ignored

// Too large: infinity. NaN stays NaN with its sign.
std::uint16_t float_to_half(float value);
std::uint16_t float_to_bfloat16(float value);
std::uint8_t float_to_e5m2(float value);
// Too large: NaN, as torch converts (the format has no infinity).
std::uint8_t float_to_e4m3fn(float value);
// Too large: +-6. NaN: +6 (the format has neither NaN nor infinity).
std::uint8_t float_to_e2m1(float value);

// Largest finite value of a floating dtype.
double max_of(DType dtype);

// Reads count elements from `first` on, as double or float. Integers and booleans are converted too
// (int64 beyond 2^53 rounds). bytes holds at least (first + out.size()) elements; any alignment.
void load(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<double> out);
void load(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<float> out);

// Writes values as elements of a floating dtype, rounded to nearest even.
void store(DType dtype, std::span<const float> values, std::size_t first,
           std::span<std::byte> bytes);

// The nearest value of the dtype, as float: what store and load give.
float round_to(DType dtype, float value);

}  // namespace kw::tensor
