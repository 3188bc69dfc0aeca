// CallComparer: the comparison of every call of a candidate with the baseline's on the same inputs.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gym/checker/executor_outputs.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/tensor_memory.h"
#include "gym/correctness/compare.h"

namespace kw::gym {

// One call of both sides, after their snapshots. It borrows them.
struct ComparedCall {
  std::uint32_t set = 0;
  const TensorMemory* inputs = nullptr;
  const ExecutorOutputs* candidate = nullptr;
  const ExecutorOutputs* baseline = nullptr;
};

// One thread. An implementation may compare where the snapshots lie, with the coefficients that the
// OutputChecker learned, or copy them to the host first.
class CallComparer {
 public:
  virtual ~CallComparer() = default;
  // Returns one report for each output, by call.
  virtual Result<std::vector<std::vector<CheckReport>>> compare(
      const OutputChecker& checker, std::span<const ComparedCall> calls) = 0;
};

// Compares on the host, several small calls at once.
class HostCallComparer final : public CallComparer {
 public:
  Result<std::vector<std::vector<CheckReport>>> compare(
      const OutputChecker& checker, std::span<const ComparedCall> calls) override;
};

}  // namespace kw::gym
