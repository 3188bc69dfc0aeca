#include "gym_environment/kernel_task.h"

#include <utility>

namespace kw::gym_environment {

Result<prompt::ChatPrompt> first_prompt(const KernelTask& task) {
  return prompt::chat_prompt(task.problem, task.signature, task.language, task.chosen,
                             task.options);
}

Result<prompt::ChatPrompt> next_prompt(const KernelTask& task, const Previous& previous) {
  prompt::Refinement refinement;
  const task::SourceFile* source =
      previous.candidate ? previous.candidate->entry_source() : nullptr;
  if (source != nullptr) refinement.previous.code = source->content;
  refinement.previous.why_not = previous.why_not;
  refinement.previous.verdict = previous.verdict;
  refinement.best = previous.best;
  return prompt::refinement_prompt(task.problem, task.signature, task.language, task.chosen,
                                   refinement, task.options);
}

gym::EvalRequest judgement_of(const KernelTask& task, task::Candidate candidate,
                              const gym::EvalOptions& options, std::string trajectory, int turn) {
  gym::EvalRequest out;
  out.problem = task.problem;
  out.candidate = std::move(candidate);
  out.options = options;
  out.trajectory = std::move(trajectory);
  out.turn = turn;
  return out;
}

}  // namespace kw::gym_environment
