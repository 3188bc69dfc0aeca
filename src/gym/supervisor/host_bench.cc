#include "gym/supervisor/host_bench.h"

#include "gym/supervisor/missing_backend.h"
#include "gym/supervisor/quiet_machine.h"

namespace kw::gym {
namespace {

const Executable& executable_of(const Program& program) {
  return static_cast<const HostProgram&>(program).executable;
}

}  // namespace

Result<Build> HostSession::build(const task::Candidate& candidate, BuildFor /*side*/) {
  KW_TRY(HostBuild built, builder_.build(candidate, *session_));
  return build_of(std::move(built));
}

Build HostSession::build_of(HostBuild built) {
  Build out{.program = nullptr,
            .mistake = std::move(built.mistake),
            .unsupported = std::move(built.unsupported),
            .cached = built.cached,
            .triton_version = std::move(built.triton_version),
            .wall_ms = built.wall_ms};
  if (built.executable) out.program = std::make_unique<HostProgram>(std::move(*built.executable));
  return out;
}

Result<std::unique_ptr<Program>> HostSession::reference_program(Compilation compilation) {
  Executable out;
  out.python = true;
  out.is_reference = true;
  out.files = {{"reference.py", problem_.reference}};
  out.entry_file = "reference.py";
  out.entry = problem_.entry;
  if (!problem_.is_module) out.destination_passing = false;
  out.compilation = compilation;
  return std::make_unique<HostProgram>(std::move(out));
}

Status HostSession::start_baseline(const Program& baseline, PairMemory memory) {
  return session_->start_baseline(executable_of(baseline), memory);
}

Result<WorkloadReport> HostSession::judge(const Program& candidate, const EvalOptions& options,
                                          int pair, const std::stop_token& stop) {
  return session_->judge(executable_of(candidate), options, stop, {.pair = pair});
}

std::optional<std::string> HostBench::lacks(const task::Candidate& candidate,
                                            const std::string& told) const {
  return missing_backend(candidate, told);
}

Status HostBench::require_quiet() const {
  return require_quiet_machine();
}

Result<std::unique_ptr<BenchSession>> HostBench::open(const task::Problem& problem,
                                                      const task::Workload& workload,
                                                      const EvalOptions& options, bool admit,
                                                      const std::stop_token& stop) {
  KW_TRY(auto opened,
         ProblemSession::open(context_, problem, workload, options, {.admit = admit}, stop));
  SessionProblem kept;
  kept.is_module = problem.is_module();
  KW_TRY(kept.reference, reference_source(problem));
  kept.entry = problem.is_module() ? problem.module().entry_point : "run";
  kept.library = problem.policy.library;
  return session(std::move(opened), builder_, std::move(kept));
}

}  // namespace kw::gym
