// A tensor as the checks see it: dtype, shape and contiguous bytes; and the slices over which
// errors are averaged.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace kw::gym {

// Borrows shape and bytes. bytes: product of shape x size_of(dtype), row-major.
struct TensorView {
  tensor::DType dtype = tensor::DType::kFloat32;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::size_t elements() const { return bytes.size() / tensor::size_of(dtype); }
};

// A tensor as rows x columns. A row is a slice: elements whose errors are of one scale.
struct Slices {
  std::size_t rows = 0, columns = 0;
};

// The last dimension; with fewer than 32 elements (too few to average over) as many dimensions
// before it as it takes, at most all.
Slices slices_of(std::span<const std::int64_t> shape);

// Elements [first, first + out.size()) of an integer or boolean tensor.
void load_whole(const TensorView& view, std::size_t first, std::span<std::int64_t> out);

// Product of a shape: 1 for [].
std::int64_t elements_of(std::span<const std::int64_t> shape);

}  // namespace kw::gym
