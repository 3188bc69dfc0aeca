// Matrix: a weight as it is stored and computed with: float32, bfloat16, or int8 with one scale a
// row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kw::lm {

// int8: symmetric. A row's scale s is float16(max |w| / 127), rounded up; a value is round(w / s),
// ties to even, within -127 to 127, and stands for value * s. A row of zeros has scale 0.
enum class WeightType { kFloat32, kBFloat16, kInt8 };

std::string_view to_string(WeightType type);  // "float32", "bfloat16", "int8"
std::optional<WeightType> weight_type_from_string(std::string_view name);
std::size_t size_of(WeightType type);

// [rows, columns], row major: y = W x. Borrowed memory that outlives it (Parameters).
struct Matrix {
  WeightType type = WeightType::kFloat32;
  std::int64_t rows = 0, columns = 0;
  std::byte* data = nullptr;
  std::uint16_t* scales = nullptr;  // [rows] float16, of int8 only

  std::byte* row(std::int64_t index) const {
    return data + static_cast<std::size_t>(index * columns) * size_of(type);
  }
};

// One row in and out. Encoding rounds to nearest, ties to even; NaN and infinity of an int8 row are
// the caller's to refuse.
void encode_row(std::span<const float> values, const Matrix& matrix, std::int64_t row);
void decode_row(const Matrix& matrix, std::int64_t row, std::span<float> values);

}  // namespace kw::lm
