#include "gym/supervisor/cuda_bench.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/present.h"
#include "gym/compile/kernel_origin.h"
#include "gym/compile/shared_object.h"
#include "gym/cuda/plan_file.h"
#include "gym/measure/sequential_interval.h"
#include "gym/supervisor/library_policy.h"
#include "gym/supervisor/plan_tuning.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/task_group.h"

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

Result<task::LaunchPlan> plan_of(const Executable& executable) {
  KW_TRY(os::Mapping file, os::Mapping::whole(executable.plan.get()));
  KW_TRY(PlanContents contents,
         read_plan_file({reinterpret_cast<const char*>(file.data()), file.size()}));
  return std::move(contents.plan);
}

// A plan that was recorded with each autotuner's choice made by rule.
class RecordedProgram : public HostProgram {
 public:
  RecordedProgram(Executable program, task::Candidate recorded,
                  std::vector<task::PlanChoice> choices)
      : HostProgram(std::move(program)),
        candidate(std::move(recorded)),
        by_rule(std::move(choices)) {}
  task::Candidate candidate;
  std::vector<task::PlanChoice> by_rule;
  std::optional<TuningResult> tuning;  // once the choices are made by time
};

// Recorders run side by side, so many at once.
int recorders() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, 8);
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
      KW_TRY(HostBuild recorded, builder().record(candidate, session(), arch_, {}));
      std::optional<Executable> executable = std::exchange(recorded.executable, std::nullopt);
      Build out = build_of(std::move(recorded));
      if (!executable) return out;
      KW_TRY(task::LaunchPlan plan, plan_of(*executable));
      out.program = std::make_unique<RecordedProgram>(std::move(*executable), candidate,
                                                      std::move(plan.choices));
      return out;
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

  bool wants_tuning(const Program& program) const override {
    const auto* recorded = dynamic_cast<const RecordedProgram*>(&program);
    return recorded != nullptr && !recorded->by_rule.empty() && !recorded->tuning;
  }
  // All variants are recorded, then tried out one after the other, and the fastest choices are
  // recorded together.
  Status tune(Program& program, const std::stop_token& stop) override {
    auto& recorded = dynamic_cast<RecordedProgram&>(program);
    const std::vector<TuningVariant> variants = tuning_variants(recorded.by_rule);
    KW_TRY(const std::vector<HostBuild> builds, record_variants(recorded, variants, stop));
    KW_TRY(const Tried of_rule, session().try_out(recorded.executable, stop));
    std::vector<TriedVariant> tried;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      tried.push_back({variants[i], std::nullopt});
      const std::optional<Executable>& executable = builds[i].executable;
      if (!executable) continue;
      KW_TRY(tried.back().tried, session().try_out(*executable, stop));
    }
    TuningResult result = tuned(recorded.by_rule, of_rule, tried);
    // Several choices together may be what none of the variants is. Where they cannot be recorded
    // the rule's stay.
    if (result.configurations != configurations_of(recorded.by_rule)) {
      KW_TRY(HostBuild best, record(recorded, result.configurations));
      if (best.executable) recorded.executable = std::move(*best.executable);
    }
    recorded.tuning = std::move(result);
    return {};
  }

  // A candidate that failed or is faster in a context that others had used is judged again in one
  // of its own, and that report counts.
  Result<WorkloadReport> judge(const Program& candidate, const EvalOptions& options, int pair,
                               const std::stop_token& stop) override {
    const Executable& plan = static_cast<const HostProgram&>(candidate).executable;
    KW_TRY(WorkloadReport report,
           session().judge(plan, options, stop, {pair, options.gpu_context == "fresh"}));
    if (!wants_confirmation(report, options)) return report;
    const WorkloadReport first = std::move(report);
    KW_TRY(report, session().judge(plan, options, stop, {pair, true}));
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
    const auto* recorded = dynamic_cast<const RecordedProgram*>(&candidate);
    const bool says_tuning =
        recorded != nullptr && !recorded->by_rule.empty() && report.has_passed();
    if (!has_call && !says_tuning) return {};
    KW_TRY(const task::LaunchPlan plan, plan_of(static_cast<HostProgram&>(candidate).executable));
    if (has_call) name_kernels(plan, present(present(report.gpu).call));
    if (!says_tuning) return {};
    if (recorded->tuning)
      report_tuning(report, plan.choices, *recorded->tuning);
    else if (completion.is_first)
      report_untuned(report, plan.choices);
    return {};
  }

 private:
  Result<HostBuild> record(const RecordedProgram& program,
                           const std::vector<std::int64_t>& choices) {
    return builder().record(program.candidate, session(), arch_, choices);
  }
  // Gives them in the order of the variants. Nothing is recorded after a stop.
  Result<std::vector<HostBuild>> record_variants(const RecordedProgram& program,
                                                 const std::vector<TuningVariant>& variants,
                                                 const std::stop_token& stop) {
    std::vector<HostBuild> builds(variants.size());
    os::TaskGroup group(recorders(), stop, "stopped");
    for (std::size_t i = 0; i < variants.size(); ++i) {
      group.post([&, i] {
        if (group.ending()) return;
        auto built = record(program, configurations_of(program.by_rule, variants[i]));
        if (built)
          builds[i] = std::move(*built);
        else
          group.end(std::move(built).error());
      });
    }
    KW_TRY_STATUS(group.finish({}));
    return builds;
  }

  DeviceBuilder& plans_;
  const int arch_;
};

}  // namespace

bool wants_confirmation(const WorkloadReport& report, const EvalOptions& options) {
  if (!report.gpu || report.gpu->context != task::GpuContext::kResident) return false;
  if (!report.has_passed()) return !leaves_context_usable(report.outcome);
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
