// kernelwright eval: judges candidates of one problem, or a data set's solutions.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

// The exit code: 0 all passed, 1 a candidate failed, 2 something could not be judged.
Result<int> eval_one(const EvalCommand& command, const Services& services);

// The exit code: 0 everything was judged (1 with fail_on_candidate and a candidate that failed), 2
// something was not.
Result<int> eval_many(const EvalCommand& command, const Services& services);

// It runs one of the two forms, after checks of the flags' combination.
Result<int> run_eval(EvalCommand command, const Services& services);

std::string verdict_line(const task::Verdict& verdict);  // one line of JSON

// 0 for a pass, 1 for the candidate's fault, 2 for what was not judged: quarantined, unsupported,
// noisy.
int exit_code_of(task::Outcome outcome);

// The gym's options of a command.
gym::GymOptions gym_options(const EvalCommand& command, gym::Progress* progress);

// Candidates of all paths, the language replaced where one was given.
Result<std::vector<task::Candidate>> read_candidates(const std::vector<std::string>& paths,
                                                     const std::string& language);

}  // namespace kw::front
