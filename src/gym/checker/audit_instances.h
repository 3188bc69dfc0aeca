// AuditInstances: inputs whose float64 outputs are known, so that most audits need no run of the
// reference.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "gym/checker/learning.h"
#include "gym/checker/output_checker.h"

namespace kw::gym {

// A secret call of a judgement runs on these inputs. A candidate sees each once, and it is replaced
// after kMaxUses candidates.
struct AuditInstance {
  static constexpr int kMaxUses = 32;
  std::uint64_t seed = 0;  // of the inputs
  Instance instance;
  std::unique_ptr<OracleComparison> comparison;  // borrows the instance
  int uses = 0;
};

// Not thread-safe.
class AuditInstances {
 public:
  // Keeps as many of the learned instances as memory allows, those with the fewest runs first.
  Status keep(LearnedInstances learned, const OutputChecker& checker);
  // Replaces worn instances. A failure of the oracle does no harm: audits then ask the oracle
  // themselves.
  Status renew(const LearningInput& in);
  // The i-th for a judgement, counted as used; nullptr when there are no more.
  AuditInstance* use(std::size_t i);

 private:
  std::vector<std::unique_ptr<AuditInstance>> instances_;
};

}  // namespace kw::gym
