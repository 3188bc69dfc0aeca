// CallComparer: the comparison of every call of a candidate with the baseline's on the same inputs.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/later.h"
#include "base/result.h"
#include "gym/checker/executor_outputs.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/tensor_memory.h"
#include "gym/correctness/compare.h"
#include "gym/correctness/compat.h"

namespace kw::gym {

// One call of both sides, after their snapshots. It borrows them.
struct ComparedCall {
  std::uint32_t set = 0;
  const TensorMemory* inputs = nullptr;
  const ExecutorOutputs* candidate = nullptr;
  const ExecutorOutputs* baseline = nullptr;
};

using ComparedReports = std::vector<std::vector<CheckReport>>;  // by call, then by output

// One thread. An implementation may compare where the snapshots lie, with the coefficients that the
// OutputChecker learned, or copy them to the host first.
class CallComparer {
 public:
  virtual ~CallComparer() = default;
  virtual Result<ComparedReports> compare(const OutputChecker& checker,
                                          std::span<const ComparedCall> calls) = 0;
  // The same of the snapshots as they are now, which a GPU may still compute until somebody asks.
  // The caller keeps what the calls borrow alive until then.
  virtual Result<Later<ComparedReports>> compare_later(const OutputChecker& checker,
                                                       std::span<const ComparedCall> calls) {
    KW_TRY(ComparedReports now, compare(checker, calls));
    return Later<ComparedReports>(std::move(now));
  }
  // Output j of a call by the benchmarks' own rules. declared: of the output.
  virtual Result<RulesResult> compare_by_rules(const task::Argument& declared, std::size_t j,
                                               const ComparedCall& call) = 0;
};

// Compares on the host, several small calls at once.
class HostCallComparer final : public CallComparer {
 public:
  Result<ComparedReports> compare(const OutputChecker& checker,
                                  std::span<const ComparedCall> calls) override;
  Result<RulesResult> compare_by_rules(const task::Argument& declared, std::size_t j,
                                       const ComparedCall& call) override;
};

}  // namespace kw::gym
