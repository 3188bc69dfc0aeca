// The check of every timed call: the candidate's output against the baseline's on the same inputs,
// at memory speed.
//
// No oracle runs here. What honest kernels of this output err by was learned from oracle runs on
// inputs of the same distribution (InstanceBudget, at least three seeds), relative to the RMS R of
// the element's slice, so that it carries over to fresh inputs:
//   budget = relative |b| + slice R            for the loop over all elements; slice: 90 % of the
//   learned rows need no more budget = most(that, by_magnitude[k] R)     for the few that exceed
//   it, |b| / R in [2^k, 2^(k + 1)): results near a pole
// Both the candidate and the baseline may use their budget, so the allowed difference is twice
// this. It is coarser than the oracle's check, which a secret part of the calls gets on top. A call
// that fails here is not yet wrong: the caller settles it with check_against_oracle on the same
// inputs. NaN and infinities on one side only always fail.
#pragma once
#include <array>
#include <span>

#include "base/result.h"
#include "gym/correctness/budget.h"
#include "gym/correctness/compare.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

// Learned for one output of one workload.
struct BaselineCoefficients {
  static constexpr int kMinExponent = -32;
  static constexpr std::size_t kBins = 64;
  double relative = 0, slice = 0;
  double least = 0;                          // absolute: the smallest step of the dtype
  std::array<double, kBins> by_magnitude{};  // [log2(|b| / R) - kMinExponent], ends included in
                                             // the outer bins; 0: not seen
};

// instances: of one output under different seeds. kInvalidArgument with fewer than three.
Result<BaselineCoefficients> learn_baseline(std::span<const InstanceBudget> instances);

// candidate and baseline: same floating dtype and shape. `sides`: how many of the two may err; 1
// where baseline holds exact values rounded to the dtype. bias and worst_tile of the report stay 0:
// structure is judged against the oracle.
CheckReport check_against_baseline(const TensorView& candidate, const TensorView& baseline,
                                   const BaselineCoefficients& learned, double sides = 2);

}  // namespace kw::gym
