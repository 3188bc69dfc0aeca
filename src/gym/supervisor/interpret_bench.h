// Triton's interpreter on the CPU: right or wrong, and whose work it is, without a time
// (docs/triton.md).
#pragma once
#include <memory>

#include "gym/supervisor/host_bench.h"
#include "task/target.h"

namespace kw::gym {

class InterpretBench : public HostBench {
 public:
  using HostBench::HostBench;
  task::Target workload_target() const override { return task::Target::kInterpret; }
  std::optional<task::Target> other_workload_target() const override { return task::Target::kCpu; }
  std::optional<task::EvidenceLevel> evidence_level() const override {
    return task::EvidenceLevel::kInterpreted;
  }
  EvalOptions options_here(EvalOptions options) const override;
  bool builds_side_by_side() const override { return true; }

 protected:
  std::unique_ptr<BenchSession> session(std::unique_ptr<ProblemSession> opened,
                                        CandidateBuilder& builder,
                                        SessionProblem problem) const override;
};

}  // namespace kw::gym
