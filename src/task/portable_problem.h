// PortableProblem: a problem in one value that needs no other file. docs/formats/request.md. Plain
// values, no threads.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

struct PortableProblem {
  std::string name;
  std::string hash;       // of the Problem; empty: not stated, and nothing is compared with it
  bool is_module = true;  // a KernelBench module, else a definition
  std::string source;     // the module's Python, or the definition's JSON
  Json workloads = {};    // a definition's list, as in docs/formats/workload.md; else null
  Json policy = {};       // in the form of to_json(Policy); null: the default
  // Of a module: the class, and the constants that replace those of the source.
  std::string entry_point = "Model";
  std::vector<std::pair<std::string, std::string>> settings = {};
};

// kUnsupported for a workload that reads a safetensors file.
Result<PortableProblem> portable_problem(const Problem& problem);

// origin: for messages. kInvalidArgument for a source that is no problem; kDataLoss when the hash
// is another.
Result<Problem> problem_of(const PortableProblem& problem, const std::string& origin);

Json to_json(const PortableProblem& problem);
// Reads the problem's keys and leaves others to the caller. kInvalidArgument names the key.
Result<PortableProblem> read_portable_problem(ObjectReader& reader);
// No other keys.
Result<PortableProblem> portable_problem_from_json(const Json& value, const std::string& where);

// The problem of a request, out of its JSON.
using ProblemReader = std::function<Result<Problem>(const Json& value, const std::string& where)>;
// Reads a PortableProblem. Errors are those of the two calls above.
Result<Problem> problem_from_json(const Json& value, const std::string& where);

}  // namespace kw::task
