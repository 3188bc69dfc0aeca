// What a model gets to read about a problem: task, interface, workloads, rules, reference, and the
// form of the answer.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "prompt/hardware_card.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/target.h"

namespace kw::prompt {

// What the text says beside the problem itself; whoever judges knows it, this folder does not.
struct PromptOptions {
  task::Target target = task::Target::kCpu;
  std::string machine;  // one line for people, "AMD EPYC 7B13, 2 cores"; empty: not mentioned
  int threads = 1;      // that the candidate may use while it is timed
  std::vector<std::string> build_flags;  // cpp: flags of every build; empty: not mentioned
  std::vector<std::string>
      optional_flags;  // cpp: flags that a "// flags:" comment may add; empty: not mentioned
  std::optional<HardwareCard> hardware = std::nullopt;  // more facts of the machine
  bool example = false;                                 // a worked example
  bool plan = false;               // asks for a plan in fixed lines before the code
  bool compact = false;            // names and numbers alone, for models that were taught on such
  std::string graph = {};          // compact: the problem's operators, a line each; must be given
  std::string strategy = {};       // compact: how the kernel shall be written; empty: not mentioned
  std::string before_answer = {};  // sections in front of the last one
};

// The signature is the one of the first workload; only its shapes of modules and its names show.
// The same arguments give the same text. kUnsupported for languages in which candidates cannot be
// asked for (cubin, and ones without a target yet); kInvalidArgument for a compact prompt without a
// graph.
Result<std::string> problem_prompt(const task::Problem& problem, const task::Signature& signature,
                                   task::Language language, const PromptOptions& options = {});

// The entry that the candidate must define: "run", or "ModelNew" for a module in Python.
std::string entry_of(const task::Problem& problem, task::Language language);

}  // namespace kw::prompt
