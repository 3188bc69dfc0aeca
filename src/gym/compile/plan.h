// CompilePlan: the files and commands that make a candidate a shared object, and the key of the
// result.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compile/toolchain.h"
#include "task/candidate.h"
#include "task/signature.h"

namespace kw::gym {

// Everything that decides the artefact's bytes is in `files`, `commands` and the toolchain.
struct CompilePlan {
  std::vector<task::SourceFile> files;  // problem.h and kw_call.h first, then the candidate's
  std::vector<std::vector<std::string>> commands;  // argv, run one after the other beside the files
  std::string artifact;                            // the file that the last command writes
  std::string key;                                 // of the build cache
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

// The flags of every cpp build, as prompts and verdicts show them: "-O3", "-march=native", ...
std::vector<std::string> shown_cpp_flags();

// The compiler's log as feedback for the next turn: the first errors with their source lines,
// warnings left out, paths shortened, at most about 4 KiB of printable text.
std::string compiler_diagnostics(std::string_view log);

}  // namespace kw::gym
