// The ends of the values that a policy asks for, as a dtype can hold them. Pure functions.
#pragma once
#include <cstdint>

#include "task/problem.h"
#include "tensor/dtype.h"

namespace kw::gym {

struct WholeRange {
  double least, most;  // whole numbers that the dtype represents, without a gap
};
WholeRange whole_range(tensor::DType dtype);

struct ValueBounds {
  double low, high;
};

// Those of the policy, or else those of its distribution.
ValueBounds bounds_of(tensor::DType dtype, const task::InputPolicy& policy);

// Whole numbers [low, high] of integer dtypes and of kIntegers.
ValueBounds whole_bounds(tensor::DType dtype, const task::InputPolicy& policy);

// The representable values nearest to the ends of [low, high), which rounding may not leave.
ValueBounds representable_bounds(tensor::DType dtype, ValueBounds bounds);

// The ends that uniform values are drawn between: narrow dtypes are rounded from float32.
ValueBounds uniform_ends(tensor::DType dtype, ValueBounds bounds);

// Counts the whole numbers in [low, high]; 0 means all 2^64.
std::uint64_t count_of(ValueBounds whole);

}  // namespace kw::gym
