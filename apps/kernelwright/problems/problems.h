// kernelwright problems list|show, and kernelwright prompt.
#pragma once
#include "base/json.h"
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"
#include "task/target.h"

namespace kw::front {

Result<int> run_problems_list(const ProblemsListCommand& command, const Services& services);
Result<int> run_problems_show(const ProblemsShowCommand& command, const Services& services);
Result<int> run_prompt(const PromptCommand& command, const Services& services);

std::string_view kind_of(const task::Problem& problem);  // "definition" or "module"

// Name, kind, family, numbers of workloads, hash and origin.
Json problem_summary(const task::Problem& problem);

// The interface of the problem's first workload. A module's reference must run for it, in the gym's
// sandbox.
Result<task::Signature> signature_for(const task::Problem& problem, const Services& services,
                                      task::Target target);

}  // namespace kw::front
