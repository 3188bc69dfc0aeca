// Outputs that name places or are free in their order: argmax, top-k, sets.
#pragma once
#include <cstdint>
#include <span>

#include "gym/correctness/compare.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

// The tensor that indices point into. Borrows.
struct IndexedValues {
  std::span<const double> values;   // float64 values, row-major in `shape`
  std::span<const double> budgets;  // error that an honest kernel may have made in them; empty:
                                    // none (an input is exact)
  std::span<const std::int64_t> shape;
  std::int64_t axis = -1;  // the axis that indices run along; negative: from the end
};

// argmax_of and topk_of. candidate, expected: indices of any integer dtype, shaped like `of` with
// the axis holding k indices, or without the axis for k = 1. Index j passes when the value it
// points at is within the two budgets of the value at the reference's j-th index, so ties may be
// broken either way, and order counts exactly when the reference's does. Indices of one slice
// differ. A NaN stands for itself only: where the reference chose a NaN, so must the candidate.
CheckReport check_indices(const TensorView& candidate, std::span<const std::int64_t> expected,
                          const IndexedValues& of);

// set, whole numbers: each row (last dimension) holds the same values equally often, in any order.
CheckReport check_set(const TensorView& candidate, std::span<const std::int64_t> expected);
// set, floats: rows are sorted, then compared within the budgets. NaN fails.
CheckReport check_set(const TensorView& candidate, const InstanceBudget& budget);

}  // namespace kw::gym
