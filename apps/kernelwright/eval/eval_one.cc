// One problem: a card or a line of JSON per candidate, in the order given.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "kernelwright/error_text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/eval/judging.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/progress.h"

namespace kw::front {
namespace {

// Prints results in the candidates' order, each as soon as those before it are out.
class Printer {
 public:
  Printer(const EvalCommand& command, const std::vector<task::Candidate>& candidates,
          Console& console, ProgressView& progress)
      : json_(command.json), candidates_(candidates), console_(console), progress_(progress) {}

  Status add(std::size_t index, Result<task::Verdict> result) {
    waiting_.emplace(index, std::move(result));
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      auto node = waiting_.extract(waiting_.begin());
      KW_TRY_STATUS(print(node.key(), node.mapped()));
      ++next_;
    }
    return {};
  }

  int exit_code() const { return exit_code_; }

 private:
  Status print(std::size_t index, const Result<task::Verdict>& result) {
    progress_.clear();
    if (result) {
      exit_code_ = std::max(exit_code_, exit_code_of(result->outcome));
      return console_.out(json_ ? verdict_line(*result) : card(*result, console_.out_colour()));
    }
    exit_code_ = std::max(exit_code_, kw::exit_code(result.error().code()));
    Error error = Error(result.error()).with_context(printable(candidates_[index].name, 120));
    if (json_) return console_.out(error_line(error));
    console_.err(fmt::format("error: {}\n", one_line(error.message())));
    return {};
  }

  bool json_;
  const std::vector<task::Candidate>& candidates_;
  Console& console_;
  ProgressView& progress_;
  std::map<std::size_t, Result<task::Verdict>> waiting_;
  std::size_t next_ = 0;
  int exit_code_ = 0;
};

// A solution file may be tried on another problem, but hardly by intent.
void warn_of_other_definitions(const task::Problem& problem,
                               const std::vector<task::Candidate>& candidates, Console& console) {
  for (const task::Candidate& candidate : candidates) {
    if (candidate.definition.empty() || candidate.definition == problem.name) continue;
    console.err(fmt::format("warning: {} says that it is for {}; it is judged on {}\n",
                            printable(candidate.name, 120), printable(candidate.definition, 120),
                            printable(problem.name, 120)));
  }
}

}  // namespace

Result<int> eval_one(const EvalCommand& command, const Services& services) {
  KW_TRY(task::Problem problem, read_problem(services, command.problem, command.set));
  KW_TRY(std::vector<task::Candidate> candidates,
         read_candidates(command.candidates, command.language));
  warn_of_other_definitions(problem, candidates, services.console);
  ProgressView progress(services.console, services.now);
  KW_TRY(std::unique_ptr<gym::Judge> judge, services.start_judge(gym_options(command, &progress)));
  Printer printer(command, candidates, services.console, progress);
  Judging work;
  work.count = candidates.size();
  work.jobs = command.jobs;
  work.request = [&](std::size_t index) {
    gym::EvalRequest request;
    request.problem = problem;
    request.candidate = candidates[index];
    request.options = command.options;
    return request;
  };
  work.done = [&](std::size_t index, Result<task::Verdict> result) -> Status {
    if (!result && (result.error().code() == ErrorCode::kCancelled ||
                    result.error().code() == ErrorCode::kIsolationTooWeak)) {
      return tl::unexpected(result.error());
    }
    if (result) {
      progress.judged(*result);
    } else {
      progress.failed();
    }
    return printer.add(index, std::move(result));
  };
  progress.begin(candidates.size(), 0, 0);
  auto status = judge_all(*judge, work, services.stop);
  progress.clear();
  if (!status) return tl::unexpected(std::move(status).error());
  return printer.exit_code();
}

}  // namespace kw::front
