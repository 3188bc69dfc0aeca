#include "gym/supervisor/cuda_bench.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "gym/compile/kernel_origin.h"
#include "gym/compile/shared_object.h"
#include "gym/cuda/plan_file.h"
#include "gym/measure/sequential_interval.h"
#include "gym/supervisor/library_policy.h"
#include "os/fd.h"
#include "os/memory.h"

namespace kw::gym {
namespace {

// The plan and its machine code as one sealed file.
Result<os::UniqueFd> plan_file_of(DeviceBuild build) {
  PlanContents contents;
  KW_CHECK(build.plan.has_value());
  contents.plan = std::move(*build.plan);
  KW_TRY(std::string cubin, os::read_whole(build.cubin.get(), kMaxArtifactBytes));
  contents.modules.push_back(std::move(cubin));
  KW_TRY(std::string file, write_plan_file(contents));
  return os::make_sealed_file("plan", file);
}

class CudaSession : public HostSession {
 public:
  CudaSession(std::unique_ptr<ProblemSession> session, CandidateBuilder& builder,
              DeviceBuilder& plans, int arch, SessionProblem problem)
      : HostSession(std::move(session), builder, std::move(problem)), plans_(plans), arch_(arch) {}

  // Python is a baseline only: against a candidate's host code nothing here is a wall.
  Result<Build> build(const task::Candidate& candidate, BuildFor side) override {
    if (candidate.language == task::Language::kPython && side == BuildFor::kBaseline)
      return HostSession::build(candidate, side);
    if (candidate.language == task::Language::kTriton) {
      KW_TRY(HostBuild recorded, builder().record(candidate, session(), arch_));
      return build_of(std::move(recorded));
    }
    KW_TRY(DeviceBuild built, plans_.build(candidate, signature()));
    Build out{.program = nullptr,
              .mistake = std::move(built.mistake),
              .unsupported = {},
              .cached = built.cached,
              .triton_version = {},
              .wall_ms = built.wall_ms};
    if (!built.plan) return out;
    Executable executable;
    KW_TRY(executable.plan, plan_file_of(std::move(built)));
    out.program = std::make_unique<HostProgram>(std::move(executable));
    return out;
  }

  // A candidate that failed or is faster in a context that others had used is judged again in one
  // of its own, and that report counts.
  Result<WorkloadReport> judge(const Program& candidate, const EvalOptions& options,
                               const std::stop_token& stop) override {
    const Executable& plan = static_cast<const HostProgram&>(candidate).executable;
    KW_TRY(WorkloadReport report,
           session().judge(plan, options, stop, options.gpu_context == "fresh"));
    if (!wants_confirmation(report, options)) return report;
    const WorkloadReport first = std::move(report);
    KW_TRY(report, session().judge(plan, options, stop, true));
    report.call_ms += first.call_ms;
    report.cost.add(first.cost);
    return report;
  }

  // A process's age does not show in the time between events on its stream, nor does its memory,
  // which comes in granules.
  bool has_baseline(bool /*unused*/) const override { return HostSession::has_baseline(false); }

  // Kernels get the plan's names, and the report says once what a recorded plan's time does not
  // tell. KernelBench's own trials let a candidate write to its inputs, which are read-only here.
  Status complete(Program& candidate, WorkloadReport& report,
                  const Completion& completion) override {
    const bool has_call = report.gpu && report.gpu->call;
    const bool says_tuning = report.has_passed() && completion.is_first;
    if (!has_call && !says_tuning) return {};
    const os::UniqueFd& plan = static_cast<HostProgram&>(candidate).executable.plan;
    KW_TRY(os::Mapping file, os::Mapping::whole(plan.get()));
    KW_TRY(PlanContents contents,
           read_plan_file({reinterpret_cast<const char*>(file.data()), file.size()}));
    if (has_call) name_kernels(contents.plan, *report.gpu->call);
    if (says_tuning) report_tuning(report, contents.plan.configurations);
    return {};
  }

 private:
  DeviceBuilder& plans_;
  const int arch_;
};

}  // namespace

bool wants_confirmation(const WorkloadReport& report, const EvalOptions& options) {
  if (!report.gpu || report.gpu->context != task::GpuContext::kResident) return false;
  if (!report.has_passed()) return !leaves_context_usable(report);
  if (options.gpu_context != "confirm" || report.candidate_ns.empty()) return false;
  const std::size_t samples = report.candidate_ns.size();
  const task::Speedup speedup =
      interval_of_samples(report.candidate_ns, report.reference_ns, std::span(&samples, 1));
  return !(speedup.low <= 1);
}

std::unique_ptr<BenchSession> CudaBench::session(std::unique_ptr<ProblemSession> opened,
                                                 CandidateBuilder& builder,
                                                 SessionProblem problem) const {
  return std::make_unique<CudaSession>(std::move(opened), builder, plans_, arch_,
                                       std::move(problem));
}

}  // namespace kw::gym
