// The files that a user takes away: a kernel as one source file with its build line, and a Python
// file whose ModelNew stands in for a module.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::task {

// The extension of the standalone source: ".cpp", ".py".
std::string source_extension(const Candidate& candidate);

// cpp: problem.h and the candidate's files in one, with its build line as a comment; Python: the
// file as it is. kUnsupported for a Python candidate of several files.
Result<std::string> standalone_source(const Candidate& candidate, const Signature& signature,
                                      const std::vector<std::string>& build_flags);

// A Python file that defines ModelNew, for module problems. For a cpp candidate it is a subclass of
// the problem's module that calls the kernel through ctypes, and builds it with g++ when it is
// imported. Python and Triton candidates are such files already. kUnsupported for definitions, and
// for candidates of several files.
Result<std::string> drop_in_module(const Problem& problem, const Candidate& candidate,
                                   const Signature& signature,
                                   const std::vector<std::string>& build_flags);

}  // namespace kw::task
