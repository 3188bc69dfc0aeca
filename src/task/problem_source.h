// The front door for problems: whatever people have on disk becomes Problems.
// docs/formats/problems.md lists the forms.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "task/problem.h"
#include "task/settings.h"

namespace kw::task {

// argument: a native problem folder (definition.json), a definition .json, a FlashInfer-Trace data
// set (definitions/, workloads/), a KernelBench .py, a folder of any of these, or a .jsonl of
// KernelBench or KernelBook rows. "#KEY" behind a folder or .jsonl picks one: a name, or LEVEL/ID.
// Sorted by path, in a file's order. settings: for modules only; with several problems each takes
// those it has, and every setting must be of use to one. kNotFound and kInvalidArgument name the
// file and what is wrong in it; one broken problem fails the whole call.
Result<std::vector<Problem>> load_problems(const std::string& argument, const Settings& settings);

// One of the things that an argument names, readable or not.
struct LoadedProblem {
  std::string name;    // the problem's; else what its file or row is called
  std::string origin;  // the file, for a row "FILE:LINE"
  Result<Problem> problem;
};

// The same, but among many (a folder, the rows of a .jsonl without KEY) a broken problem is an
// entry with its error. What concerns the whole argument is an error as above: a folder without
// problems, a setting that none has.
Result<std::vector<LoadedProblem>> load_each_problem(const std::string& argument,
                                                     const Settings& settings);

// Exactly one; kInvalidArgument lists some names when there are more.
Result<Problem> load_problem(const std::string& argument, const Settings& settings);

}  // namespace kw::task
