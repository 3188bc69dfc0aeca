// Drives a compiler process through one build: request, wait, range-checked answer, validated
// artefact.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "gym/compile/build_cache.h"
#include "gym/compile/plan.h"
#include "os/fd.h"

namespace kw::gym {

// A started kernelwright-compiler, borrowed. The process is hostile once it has run, so the caller
// kills its sandbox after run_compile in every case.
struct CompilerLink {
  int control = -1;  // our end of its fd 3; closed on its side when it is done
  std::chrono::milliseconds timeout{60'000};  // counts only while the compiler is not frozen
  // The total time for which the compiler has been frozen, from any fixed origin. Empty: nothing
  // freezes it.
  std::function<std::chrono::nanoseconds()> frozen;
  // Returns all that the compiler wrote. It is called once, after the compiler's end or the
  // timeout, and must not wait for more than is already in the pipe.
  std::function<std::string()> log;
};

enum class BuildStatus {
  kBuilt,
  kFailed,    // a command failed or left no artefact: outcome compile_error
  kTooLarge,  // the artefact: outcome compile_error
  kTimedOut,  // outcome compile_error, diagnostics say so
  kRefused,   // nobody's fault, diagnostics say why: outcome unsupported
};

// A build that failed is a value here: it is the candidate's doing.
struct BuildOutcome {
  BuildStatus status = BuildStatus::kFailed;
  os::UniqueFd artifact;  // kBuilt: sealed against every change
  bool has_prepare = false;
  bool cached = false;      // found in the cache, no compiler ran
  std::string diagnostics;  // otherwise: what the author of the candidate should read
  double compile_ms = 0;    // wall time from the request to the compiler's end
};

// The build of an identical candidate, if the cache has it.
Result<std::optional<BuildOutcome>> find_build(const CompilePlan& plan, BuildCache& cache);

// Builds the plan and stores the artefact. An Error means that the machine failed; a compiler
// process that dies without an answer or answers with nonsense is BuildStatus::kFailed.
Result<BuildOutcome> run_compile(const CompilePlan& plan, const CompilerLink& link,
                                 BuildCache& cache);

}  // namespace kw::gym
