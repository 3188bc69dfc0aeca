// The CPU: candidates in C++ and Python, timed.
#pragma once
#include <memory>

#include "gym/supervisor/host_bench.h"

namespace kw::gym {

class CpuBench : public HostBench {
 public:
  using HostBench::HostBench;
  task::Target workload_target() const override { return task::Target::kCpu; }

 protected:
  std::unique_ptr<BenchSession> session(std::unique_ptr<ProblemSession> opened,
                                        CandidateBuilder& builder,
                                        SessionProblem problem) const override;
};

}  // namespace kw::gym
