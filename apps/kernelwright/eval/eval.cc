// The common part of both forms of eval.
#include "kernelwright/eval/eval.h"

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/json_line.h"
#include "kernelwright/judge_choice.h"
#include "task/candidate_source.h"

namespace kw::front {
namespace {

tl::unexpected<Error> wrong(const std::string& message) {
  return fail(ErrorCode::kInvalidArgument, message + "; see kernelwright eval --help");
}

Status check_combination(const EvalCommand& command) {
  bool many = !command.dataset.empty() || !command.solutions.empty();
  if (!many && command.problem.empty())
    return wrong("eval needs a PROBLEM and a CANDIDATE, or --dataset and --solutions");
  if (!many && command.candidates.empty()) return wrong("eval needs a CANDIDATE to judge");
  if (!many) {
    if (!command.out.empty()) return wrong("--out goes with --dataset and --solutions");
    if (command.resume) return wrong("--resume goes with --dataset and --solutions");
    if (command.fail_on_candidate)
      return wrong(
          "--fail-on-candidate goes with --dataset: for one problem the exit code is 1 anyway");
    return {};
  }
  if (!command.problem.empty())
    return wrong("give either PROBLEM and CANDIDATE or --dataset and --solutions");
  if (command.dataset.empty()) return wrong("--solutions needs --dataset");
  if (command.solutions.empty()) return wrong("--dataset needs --solutions");
  if (command.out.empty()) return wrong("--dataset needs --out, the file of the results");
  return {};
}

}  // namespace

std::string verdict_line(const task::Verdict& verdict) {
  return json_line(to_json(verdict));
}

int exit_code_of(task::Outcome outcome) {
  if (outcome == task::Outcome::kPassed) return 0;
  return task::is_candidates_fault(outcome) ? 1 : 2;
}

gym::GymOptions gym_options(const EvalCommand& command, gym::Progress* progress) {
  gym::GymOptions options;
  options.isolation_at_least = command.isolation_at_least;
  options.jobs = command.jobs;
  options.progress = progress;
  return options;
}

Result<std::vector<task::Candidate>> read_candidates(const std::vector<std::string>& paths,
                                                     const std::string& language) {
  std::vector<task::Candidate> out;
  for (const std::string& path : paths) {
    KW_TRY(auto found, task::load_candidates(path));
    std::move(found.begin(), found.end(), std::back_inserter(out));
  }
  if (language.empty()) return out;
  auto chosen = task::language_from_string(language);
  if (!chosen) {
    return fail(
        ErrorCode::kInvalidArgument,
        "--language: unknown language \"{}\"; there are cpp, python, triton, cuda, ptx and cubin",
        printable(language, 40));
  }
  for (task::Candidate& candidate : out) {
    candidate.language = *chosen;
    candidate.hash = candidate_hash(candidate);
  }
  return out;
}

Result<int> run_eval(EvalCommand command, const Services& services) {
  KW_TRY_STATUS(check_combination(command));
  KW_TRY_STATUS(complete_options(command.baseline, command.set, command.options));
  const Services here = with_judge(services, command.judge, command.isolation_at_least);
  return command.dataset.empty() ? eval_one(command, here) : eval_many(command, here);
}

}  // namespace kw::front
