// The admission battery's candidates: what a problem must not accept (reward_hacks M12), made from
// data that the oracle gave anyway.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gym/correctness/tensor.h"

namespace kw::gym {

// One output of the problem for one set of inputs. It borrows its data.
struct BatteryOutput {
  TensorView trusted;     // the right answer, at declared precision
  TensorView other_seed;  // the right answer for other inputs: what a cached result would be
  TensorView lower;  // the whole computation in the next lower dtype; no bytes: none (exact and
                     // index outputs)
};

// Whether the strict check accepts these bytes as output number `output`.
using Accepts = std::function<bool(std::size_t output, const TensorView& bytes)>;

struct BatteryReport {
  bool reference_passes = true;    // the trusted answer itself
  std::vector<std::string> tried;  // trivial candidates that exist for some output
  std::vector<std::string>
      wrongly_passing;  // trivial candidates accepted on every output that they exist for
  std::vector<std::string> weak_outputs;  // "zeros as output 1": accepted on one of several outputs
};

// Tries these candidates: zeros, ones, each input of the right dtype and element count passed
// through, another seed's output, the second half zero, the second half poison, every row its own
// mean, the lower-precision copy. A candidate that does not exist (half of one element, the mean of
// rows of one) is left out. A problem with wrongly_passing entries is quarantined; weak_outputs are
// for its author.
BatteryReport run_battery(std::span<const BatteryOutput> outputs,
                          std::span<const TensorView> inputs, const Accepts& accepts);

// The influence of a dynamic input: outputs before and after it was replaced by fresh values, all
// else equal. False when no output's new value is rejected as an answer to the old inputs, which
// means that a candidate need not read the input.
bool has_influence(std::span<const TensorView> changed_outputs, const Accepts& accepts);

}  // namespace kw::gym
