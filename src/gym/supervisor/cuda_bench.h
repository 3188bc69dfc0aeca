// The GPU: candidates without host code (cuda, ptx, cubin) and recorded Triton, as launch plans
// that an executor of ours launches (docs/gpu.md). The baseline is such a plan too, or Python on
// the same GPU.
#pragma once
#include <memory>

#include "gym/supervisor/device_builder.h"
#include "gym/supervisor/host_bench.h"

namespace kw::gym {

// Whether a report is to be confirmed in a context that nobody used before: the candidate failed in
// one that others had used, or it is surely faster than the baseline and options.gpu_context says
// so.
bool wants_confirmation(const WorkloadReport& report, const EvalOptions& options);

class CudaBench : public HostBench {
 public:
  // The context names the GPU, of compute capability arch / 10. Borrows both builders.
  CudaBench(ProblemSession::Context context, CandidateBuilder& builder, DeviceBuilder& plans,
            int arch)
      : HostBench(std::move(context), builder), plans_(plans), arch_(arch) {}
  task::Target workload_target() const override { return task::Target::kCuda; }
  // Benchmarks of others name no target, and are meant for a GPU.
  std::optional<task::Target> other_workload_target() const override { return task::Target::kCpu; }
  // A plan needs nothing but the GPU, so that a missing library is no excuse for its failure.
  std::optional<std::string> lacks(const task::Candidate& /*candidate*/,
                                   const std::string& /*told*/) const override {
    return std::nullopt;
  }
  task::MadeWith made_with() const override {
    task::MadeWith out = HostBench::made_with();
    out.device_compiler = plans_.compiler();
    return out;
  }

 protected:
  std::unique_ptr<BenchSession> session(std::unique_ptr<ProblemSession> opened,
                                        CandidateBuilder& builder,
                                        SessionProblem problem) const override;

 private:
  DeviceBuilder& plans_;
  const int arch_;
};

}  // namespace kw::gym
