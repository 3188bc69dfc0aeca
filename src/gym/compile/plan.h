// CompilePlan: what a compiler role is asked to build of a candidate, and the key of the result.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compile/cuda_toolchain.h"
#include "gym/compile/toolchain.h"
#include "gym/compile/triton_toolchain.h"
#include "task/candidate.h"
#include "task/launch_plan.h"
#include "task/signature.h"

namespace kw::gym {

enum class ArtifactKind {
  kSharedObject,   // built by commands from a cpp candidate
  kTritonKernels,  // a TritonBuild, made by running the candidate's host code
  kRecordedPlan,   // a file of gym/cuda/plan_file.h, made by running the candidate's host code
  kDeviceCode,     // a cubin, built by a command from a cuda, ptx or cubin candidate
};

// Everything that decides the artefact's bytes is in `files`, `commands`, `setup` and the tool
// chain.
struct CompilePlan {
  ArtifactKind kind = ArtifactKind::kSharedObject;
  std::vector<task::SourceFile> files;  // cpp: problem.h and kw_call.h first, then the candidate's
  std::vector<std::vector<std::string>> commands;  // argv, run one after the other beside the files
  std::string artifact;                            // the file that the last command writes
  Json setup;  // Triton: "setup" of the request; device code: the launches
  std::optional<task::LaunchPlan>
      launches;     // device code: what the cubin's kernels are held against
  std::string key;  // key in the build cache
  bool has_prepare = false;

  std::size_t source_bytes() const;
};

// The build of a `cpp` candidate. kInvalidArgument is the candidate's fault and says what is wrong:
// no C++ source, a path or flag that is not allowed, too many or too large files. The plan does not
// depend on the values of the signature's variable axes.
//
// One command where there is one source: the compiler driver, cc1plus and the linker start once.
// kw_call.h is included in front of the entry file instead of being a translation unit of its own:
// 58 ms instead of 100 ms for a relu (2-core VM, GCC 12). Of these, cc1plus takes 35 ms and linking
// 20 ms; the linker plugin, of use only with -flto, would take 6 ms more. gold saves 2 ms of bfd's
// 25 and is not everywhere. A precompiled problem.h takes 36 ms to make and saves 8.
Result<CompilePlan> plan_cpp(const task::Candidate& candidate, const task::Signature& signature,
                             const Toolchain& toolchain);

// The ahead-of-time compilation of a `triton` candidate for compute capability arch / 10. setup:
// how its host code is called, as an executor is told it (docs/protocol.md).
// The plan depends on the shapes in it: launches take their constants from them.
Result<CompilePlan> plan_triton(const task::Candidate& candidate, Json setup, int arch,
                                const TritonToolchain& toolchain);

// The same host code recorded: what it launches becomes a launch plan. choices: numbers of the
// configurations that its first autotuners take.
Result<CompilePlan> plan_recording(const task::Candidate& candidate, Json setup, int arch,
                                   const std::vector<std::int64_t>& choices,
                                   const TritonToolchain& toolchain);

// The build of a `cuda`, `ptx` or `cubin` candidate for a GPU ("sm_90a"). Its launches are those of
// task::device_plan() on one module, whose hash and size are known when it is built. The plan does
// not depend on the values of the variable axes. kInvalidArgument is the candidate's fault;
// kUnsupported names the compiler that is missing.
Result<CompilePlan> plan_device(const task::Candidate& candidate, const task::Signature& signature,
                                const std::string& architecture, const CudaToolchain& toolchain);

// The flags of every cpp build, as prompts and verdicts show them: "-O3", "-march=native", ...
std::vector<std::string> shown_cpp_flags();

// The compiler's log as feedback for the next turn: the first errors with their source lines,
// warnings left out, paths shortened, at most about 4 KiB of printable text.
std::string compiler_diagnostics(std::string_view log);

}  // namespace kw::gym
