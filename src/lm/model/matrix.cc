#include "lm/model/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/half.h"

namespace kw::lm {
namespace {

constexpr float kMaxInt8 = 127;

// The smallest float16 that is at least this.
std::uint16_t half_from_below(float value) {
  std::uint16_t bits = tensor::float_to_half(value);
  return tensor::half_to_float(bits) < value ? static_cast<std::uint16_t>(bits + 1) : bits;
}

void encode_int8(std::span<const float> values, std::int8_t* out, std::uint16_t& scale) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  scale = half_from_below(largest / kMaxInt8);
  const float step = tensor::half_to_float(scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float whole = step > 0 ? std::nearbyint(values[i] / step) : 0.0F;
    out[i] = static_cast<std::int8_t>(std::clamp(whole, -kMaxInt8, kMaxInt8));
  }
}

}  // namespace

std::string_view to_string(WeightType type) {
  switch (type) {
    case WeightType::kFloat32:
      return "float32";
    case WeightType::kBFloat16:
      return "bfloat16";
    case WeightType::kInt8:
      return "int8";
  }
  return "";
}

std::optional<WeightType> weight_type_from_string(std::string_view name) {
  for (WeightType type : {WeightType::kFloat32, WeightType::kBFloat16, WeightType::kInt8})
    if (to_string(type) == name) return type;
  return std::nullopt;
}

std::size_t size_of(WeightType type) {
  switch (type) {
    case WeightType::kFloat32:
      return 4;
    case WeightType::kBFloat16:
      return 2;
    case WeightType::kInt8:
      return 1;
  }
  return 0;
}

void encode_row(std::span<const float> values, const Matrix& matrix, std::int64_t row) {
  std::byte* out = matrix.row(row);
  switch (matrix.type) {
    case WeightType::kFloat32:
      std::memcpy(out, values.data(), values.size_bytes());
      return;
    case WeightType::kBFloat16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t bits = tensor::float_to_bfloat16(values[i]);
        std::memcpy(out + 2 * i, &bits, 2);
      }
      return;
    case WeightType::kInt8:
      encode_int8(values, reinterpret_cast<std::int8_t*>(out), matrix.scales[row]);
      return;
  }
}

void decode_row(const Matrix& matrix, std::int64_t row, std::span<float> values) {
  const std::byte* in = matrix.row(row);
  switch (matrix.type) {
    case WeightType::kFloat32:
      std::memcpy(values.data(), in, values.size_bytes());
      return;
    case WeightType::kBFloat16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, in + 2 * i, 2);
        values[i] = tensor::bfloat16_to_float(bits);
      }
      return;
    case WeightType::kInt8: {
      const float step = tensor::half_to_float(matrix.scales[row]);
      const auto* whole = reinterpret_cast<const std::int8_t*>(in);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(whole[i]) * step;
      return;
    }
  }
}

}  // namespace kw::lm
