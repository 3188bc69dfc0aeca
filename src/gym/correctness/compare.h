// Is an output right? Against the float64 oracle with an InstanceBudget; whole numbers and booleans
// exactly.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gym/correctness/budget.h"
#include "gym/correctness/structure.h"
#include "gym/correctness/tensor.h"
#include "task/verdict.h"

namespace kw::gym {

struct CheckReport {
  bool passed = true;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;  // over budget, NaN included
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;  // infinities where none belong, and missing ones
  double max_absolute = 0;     // largest |candidate - expected|; infinities apart
  double max_relative =
      0;  // largest |candidate - expected| / (|expected| + 1e-8), FlashInfer-Bench's definition
  double max_of_budget =
      0;            // largest |candidate - expected| / budget; over 1 is wrong, infinite for NaN
  double bias = 0;  // mean of (candidate - expected) / budget
  double worst_tile = 0;                   // largest root mean square of it over 64 neighbours
  bool biased = false, clustered = false;  // either fails the check
  // Some of the wrong elements, at random; empty where nobody kept any.
  std::vector<std::uint64_t> sample;

  // Adds another call of the same output.
  void merge(const CheckReport& other);
};

// Whether the largest error is near the budget (task::Borderline), and nothing else is
// wrong with the output: a repetition might decide otherwise.
bool is_near_budget(const CheckReport& report);

// Folds a report into the verdict's error measures: maxima, one more call.
void record(const CheckReport& report, task::OutputError& error);

// Compares `candidate`, which has the dtype and element count of budget.spec(). NaN never passes.
// If the float64 result overflows the dtype and the trusted one is infinite, the candidate must
// be infinite with the same sign, or finite within budget where the float64 result is finite.
CheckReport check_against_oracle(const TensorView& candidate, const InstanceBudget& budget);

// Integers must be equal. A boolean's byte must be 0 or 1 and equal. expected: the oracle's int64.
// as_right: the same elements as perturbed runs give them. An element that rounding decides (a
// comparison, a rounding, the place of an extreme) may have any of these values too.
CheckReport check_exact(const TensorView& candidate, std::span<const std::int64_t> expected,
                        std::span<const std::span<const std::int64_t>> as_right = {});
// The same against another output of the same dtype; floats bit for bit but for -0 = 0 (check =
// "exact" on a floating output: NaN fails).
CheckReport check_exact(const TensorView& candidate, const TensorView& expected);

}  // namespace kw::gym
