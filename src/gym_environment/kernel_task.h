// KernelTask: a problem as it is put to a model, the messages that ask for a kernel, and the
// judgement of an answer's code. Searches and KernelEnvironment put their questions with it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/eval_request.h"
#include "prompt/templates.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::gym_environment {

// All borrowed.
struct KernelTask {
  const task::Problem& problem;
  const task::Signature& signature;
  task::Language language;
  const prompt::Template& chosen;
  const prompt::PromptOptions& options;
};

// An earlier answer, which the next one improves.
struct Previous {
  std::optional<task::Candidate> candidate;
  std::string why_not = {};              // without a candidate: Reading::why_not
  std::optional<task::Verdict> verdict;  // nullopt: there was no code, or it could not be judged
  std::optional<prompt::BestSoFar> best;
};

// The problem alone.
Result<prompt::ChatPrompt> first_prompt(const KernelTask& task);
// The problem, the previous answer's code, and what the gym found in it.
Result<prompt::ChatPrompt> next_prompt(const KernelTask& task, const Previous& previous);

// The judgement of a candidate. trajectory and turn are carried through to events.
gym::EvalRequest judgement_of(const KernelTask& task, task::Candidate candidate,
                              const gym::EvalOptions& options, std::string trajectory, int turn);

}  // namespace kw::gym_environment
