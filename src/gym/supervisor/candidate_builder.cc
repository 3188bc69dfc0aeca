// Builds candidates, with one function for each language.
#include "gym/supervisor/candidate_builder.h"

#include <chrono>
#include <utility>

#include "gym/compile/shared_object.h"
#include "gym/version.h"
#include "os/fd.h"

namespace kw::gym {
namespace {

using Clock = std::chrono::steady_clock;

Executable python_executable(const task::Candidate& candidate, bool module) {
  Executable executable;
  executable.python = true;
  executable.files = candidate.sources;
  executable.entry_file = candidate.entry_file;
  executable.entry = !candidate.entry_function.empty() ? candidate.entry_function
                     : module                          ? "ModelNew"
                                                       : "run";
  if (candidate.destination_passing_given)
    executable.destination_passing = candidate.destination_passing;
  return executable;
}

// A plan that cannot be made is the candidate's mistake, unless it is ours.
Result<HostBuild> refused(Error error) {
  if (error.code() != ErrorCode::kInvalidArgument) return tl::unexpected(std::move(error));
  HostBuild build;
  build.mistake = error.message();
  return build;
}

}  // namespace

CandidateBuilder::CandidateBuilder(const Programs& programs, Roles& roles, const HostLease& lease,
                                   std::filesystem::path cache_folder)
    : programs_(programs),
      roles_(roles),
      lease_(lease),
      cache_(std::move(cache_folder)),
      cpp_(resolve_toolchain()),
      packages_(std::async(std::launch::async,
                           [python = programs.python] { return python_packages(python); })) {}

task::MadeWith CandidateBuilder::made_with() const {
  const PythonPackages& packages = packages_.get();
  task::MadeWith out;
  out.gym_version = kGymVersion;
  if (cpp_) out.compiler = cpp_->version;
  out.torch = packages.torch;
  out.triton = packages.triton;
  return out;
}

std::vector<std::string> CandidateBuilder::languages() const {
  std::vector<std::string> names;
  if (cpp_) names.emplace_back("cpp");
  if (programs_.python.empty()) return names;
  names.emplace_back("python");
  if (triton()) names.emplace_back("triton");
  return names;
}

Result<TritonToolchain> CandidateBuilder::triton() const {
  std::lock_guard lock(mutex_);
  if (!triton_)
    triton_ = resolve_triton(programs_.python, programs_.python_folder / "triton_support");
  return *triton_;
}

Result<RunningRole> CandidateBuilder::start(ArtifactKind kind) {
  if (kind == ArtifactKind::kTritonKernels) return roles_.start_triton_compiler();
  if (kind == ArtifactKind::kRecordedPlan) return roles_.start_triton_recorder();
  return roles_.start_compiler();
}

Result<BuildOutcome> CandidateBuilder::compile(const CompilePlan& plan) {
  KW_TRY(auto found, find_build(plan, cache_));
  if (found) return std::move(*found);
  KW_TRY(RunningRole role, start(plan.kind));
  CompilerLink link;
  link.control = role.control.get();
  link.log = [&] { return role.log->text(); };
  link.frozen = [this] { return lease_.held(); };
  return run_compile(plan, link, cache_);
}

Result<HostBuild> CandidateBuilder::build_cpp(const task::Candidate& candidate,
                                              const task::Signature& signature) {
  if (!cpp_) return fail(ErrorCode::kUnsupported, "no C++ compiler: {}", cpp_.error().message());
  auto plan = plan_cpp(candidate, signature, *cpp_);
  if (!plan) return refused(std::move(plan).error());
  KW_TRY(BuildOutcome outcome, compile(*plan));
  HostBuild build;
  build.cached = outcome.cached;
  if (outcome.status != BuildStatus::kBuilt) {
    build.mistake = std::move(outcome.diagnostics);
    return build;
  }
  build.executable.emplace();
  build.executable->shared_object = std::move(outcome.artifact);
  build.executable->has_prepare = outcome.has_prepare;
  return build;
}

Result<HostBuild> CandidateBuilder::build_triton(const task::Candidate& candidate,
                                                 const ProblemSession& session) {
  KW_TRY(TritonToolchain toolchain, triton());
  Executable executable = python_executable(candidate, session.is_module());
  TritonRun run;
  Json setup = session.call_setup(executable);
  auto plan = plan_triton(candidate, std::move(setup), kTritonArch, toolchain);
  if (!plan) return refused(std::move(plan).error());
  KW_TRY(BuildOutcome outcome, compile(*plan));
  HostBuild build;
  build.cached = outcome.cached;
  build.triton_version = toolchain.version;
  if (outcome.status != BuildStatus::kBuilt) {
    build.mistake = std::move(outcome.diagnostics);
    return build;
  }
  KW_TRY(std::string artifact, os::read_whole(outcome.artifact.get(), kMaxArtifactBytes));
  KW_TRY(run.build, read_triton_build(artifact));
  executable.triton = std::move(run);
  build.executable = std::move(executable);
  return build;
}

Result<HostBuild> CandidateBuilder::record(const task::Candidate& candidate,
                                           const ProblemSession& session, int arch,
                                           const std::vector<std::int64_t>& choices) {
  const auto start = Clock::now();
  KW_TRY(TritonToolchain toolchain, triton());
  Json setup = session.call_setup(python_executable(candidate, session.is_module()));
  auto plan = plan_recording(candidate, std::move(setup), arch, choices, toolchain);
  if (!plan) return refused(std::move(plan).error());
  KW_TRY(BuildOutcome outcome, compile(*plan));
  HostBuild build;
  build.cached = outcome.cached;
  build.triton_version = toolchain.version;
  build.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (outcome.status == BuildStatus::kBuilt) {
    build.executable.emplace();
    build.executable->plan = std::move(outcome.artifact);
  } else if (outcome.status == BuildStatus::kRefused) {
    build.unsupported = std::move(outcome.diagnostics);
  } else {
    build.mistake = std::move(outcome.diagnostics);
  }
  return build;
}

Result<HostBuild> CandidateBuilder::build(const task::Candidate& candidate,
                                          const ProblemSession& session) {
  if (candidate.language == task::Language::kPython) {
    HostBuild build;
    build.executable = python_executable(candidate, session.is_module());
    return build;
  }
  auto start = Clock::now();
  bool triton = candidate.language == task::Language::kTriton;
  KW_TRY(HostBuild build,
         triton ? build_triton(candidate, session) : build_cpp(candidate, session.signature()));
  build.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return build;
}

}  // namespace kw::gym
