// Describes a wrong output for the next attempt: by classes only, without places and values, so
// that hidden inputs stay hidden.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "gym/correctness/compare.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

enum class MismatchKind {
  kNan,  // NaN where the reference has none
  kInfinite,
  kUnwritten,   // elements that the call did not write
  kZeros,       // nearly all wrong elements are zero
  kConstant,    // every element is the same
  kTransposed,  // the last two dimensions are exchanged
  kShifted,     // each element is its neighbour's value
  kScaled,      // all off by one factor
  kTail,        // only the last eighth is wrong
  kRounding,  // close, but beyond what rounding explains: a lower precision or a slightly different
              // formula
  kBias,      // every element within budget, but all to one side
  kCluster,   // every element within budget, but neighbours err together
};

struct Mismatch {
  std::vector<MismatchKind> kinds;
  std::string share;  // "all", "most", "many", "some", "few" of the elements are wrong
  std::string text;   // one sentence that says both
};

// Describes an output that did not pass. expected: the reference's output in the declared dtype.
// unwritten: count_poisoned() of the output.
Mismatch describe_mismatch(const TensorView& candidate, const TensorView& expected,
                           const CheckReport& report, std::size_t unwritten);

}  // namespace kw::gym
