// The parts of a problem's prompt, each a block of Markdown that ends in a newline (or is empty).
#pragma once
#include <string>

#include "prompt/problem_prompt.h"

namespace kw::prompt {

std::string description_section(const task::Problem& problem);
// cpp: problem.h and how to use it. Python: the call of run or ModelNew with shapes and dtypes.
std::string interface_section(const task::Problem& problem, const task::Signature& signature,
                              task::Language language);
// The same without words: of cpp the declarations of problem.h, of Python a line for each tensor.
std::string compact_interface(const task::Problem& problem, const task::Signature& signature,
                              task::Language language);
// Axis values that are judged. Input distributions are not shown: they are part of what is tested.
// Those for the target; all where there is none for it.
std::string workloads_section(const task::Problem& problem, task::Target target);
// What the policy allows, how correctness is decided, and how it is timed; a list of sentences.
std::string rules_section(const task::Problem& problem, task::Language language,
                          const PromptOptions& options);

}  // namespace kw::prompt
