// Slices of a shape, and reading whole numbers.
#include "gym/correctness/tensor.h"

#include <cstring>

#include "base/check.h"

namespace kw::gym {
namespace {

template <typename Stored>
void load_as(const std::byte* from, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
    out[i] = std::int64_t{stored};
  }
}

}  // namespace

void load_whole(const TensorView& view, std::size_t first, std::span<std::int64_t> out) {
  KW_CHECK(!tensor::is_floating(view.dtype) && first + out.size() <= view.elements());
  if (out.empty()) return;
  const std::byte* from = view.bytes.data() + first * tensor::size_of(view.dtype);
  switch (view.dtype) {
    case tensor::DType::kInt64:
      return load_as<std::int64_t>(from, out);
    case tensor::DType::kInt32:
      return load_as<std::int32_t>(from, out);
    case tensor::DType::kInt16:
      return load_as<std::int16_t>(from, out);
    case tensor::DType::kInt8:
      return load_as<std::int8_t>(from, out);
    default:
      return load_as<std::uint8_t>(from, out);
  }
}

std::int64_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t product = 1;
  for (std::int64_t size : shape) product *= size;
  return product;
}

Slices slices_of(std::span<const std::int64_t> shape) {
  constexpr std::int64_t kMin = 32;
  std::int64_t elements = elements_of(shape);
  if (elements == 0) return {};
  std::int64_t columns = 1;
  for (std::size_t i = shape.size(); i > 0 && columns < kMin; --i) columns *= shape[i - 1];
  return {static_cast<std::size_t>(elements / columns), static_cast<std::size_t>(columns)};
}

}  // namespace kw::gym
