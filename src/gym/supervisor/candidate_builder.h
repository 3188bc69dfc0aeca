// CandidateBuilder: from a candidate's sources to what an executor runs, through the compiler roles
// and the build cache.
#pragma once
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/compile/build_cache.h"
#include "gym/compile/compile.h"
#include "gym/compile/plan.h"
#include "gym/compile/python_packages.h"
#include "gym/compile/toolchain.h"
#include "gym/compile/triton_toolchain.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/problem_session.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "task/candidate.h"
#include "task/verdict.h"

namespace kw::gym {

struct HostBuild {
  std::optional<Executable> executable;
  std::string mistake;         // says to the candidate's author why there is no executable
  std::string unsupported;     // why there is none by nobody's fault
  std::optional<bool> cached;  // nullopt where nothing is compiled
  std::string triton_version;
  double wall_ms = 0;
};

// Thread-safe.
class CandidateBuilder {
 public:
  // Borrows programs, roles and lease, which freezes compilers. A tool chain that is missing is an
  // error only for candidates that need it.
  CandidateBuilder(const Programs& programs, Roles& roles, const HostLease& lease,
                   std::filesystem::path cache_folder);

  // Of the host: no device compiler. It waits for the first answer of Python.
  task::MadeWith made_with() const;
  // Languages whose candidates can be judged here.
  std::vector<std::string> languages() const;

  // For the session's workload. kUnsupported without the language's tool chain.
  Result<HostBuild> build(const task::Candidate& candidate, const ProblemSession& session);
  // The same for a C++ candidate whose interface is known without a session.
  Result<HostBuild> build_cpp(const task::Candidate& candidate, const task::Signature& signature);
  // Records a Triton candidate's calls: its executable is a launch plan for a GPU of compute
  // capability arch / 10. choices: numbers of the configurations that its autotuners take
  // (task::PlanChoice::chosen), in their order; those behind its end are taken by rule.
  Result<HostBuild> record(const task::Candidate& candidate, const ProblemSession& session,
                           int arch, const std::vector<std::int64_t>& choices);

 private:
  Result<RunningRole> start(ArtifactKind kind);
  Result<BuildOutcome> compile(const CompilePlan& plan);
  Result<HostBuild> build_triton(const task::Candidate& candidate, const ProblemSession& session);
  Result<TritonToolchain> triton() const;

  const Programs& programs_;
  Roles& roles_;
  const HostLease& lease_;
  BuildCache cache_;
  Result<Toolchain> cpp_;
  std::shared_future<PythonPackages> packages_;
  mutable std::mutex mutex_;  // guards triton_
  mutable std::optional<Result<TritonToolchain>> triton_;
};

}  // namespace kw::gym
