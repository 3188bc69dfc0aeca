// One sample through the gym.
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "data/filter.h"
#include "prompt/blocks.h"
#include "prompt/templates.h"
#include "search/reading.h"
#include "task/candidate.h"

namespace kw::data {
namespace {

using task::Outcome;

std::vector<std::string> shown_code(const std::vector<prompt::Message>& messages) {
  std::vector<std::string> out;
  for (const prompt::Message& message : messages) {
    if (message.role == "assistant") continue;
    for (prompt::CodeBlock& block : prompt::code_blocks(message.content))
      out.push_back(std::move(block.code));
  }
  return out;
}

std::string reason_of(const task::Verdict& verdict) {
  if (verdict.outcome == Outcome::kViolation) return verdict.violation;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    if (workload.outcome == verdict.outcome && !workload.diagnostics.empty())
      return printable(workload.diagnostics[0].message, 300);
  }
  if (!verdict.diagnostics.empty()) return printable(verdict.diagnostics[0].message, 300);
  return "";
}

struct Judged {
  search::Reading reading;
  std::optional<task::Verdict> verdict;  // of what could be read

  bool right() const {
    return verdict && (verdict->outcome == Outcome::kPassed ||
                       (verdict->outcome == Outcome::kNoisy && verdict->kernelbench.correctness));
  }
};

class SampleJudge {
 public:
  SampleJudge(const Sample& sample, const gym::EvalOptions& options,
              const prompt::PromptOptions& asking, search::Evaluator& evaluator,
              std::stop_token stop)
      : sample_(sample),
        options_(options),
        asking_(asking),
        evaluator_(evaluator),
        stop_(std::move(stop)) {
    options_.timing = options_.timing || (sample.pending && sample.kind == Kind::kSpeedup);
  }

  Result<Finding> run() {
    auto problem = task_problem(*sample_.problem, sample_.id);
    if (!problem) return bad_problem(problem.error().message());
    problem_ = std::move(*problem);
    const auto language = task::language_from_string(sample_.language);
    if (!language) return bad_problem("unknown language " + sample_.language);
    language_ = *language;
    std::optional<Judged> previous;
    if (sample_.pending) {
      KW_TRY(previous, judge(sample_.pending->previous));
      const bool repair = sample_.kind == Kind::kRepair;
      if (repair && previous->right()) return finding("not_wrong", *previous);
      if (!repair && !previous->right()) return finding("not_right", *previous);
    }
    KW_TRY(Judged answer, judge(sample_.answer()));
    Finding out = finding("", answer);
    if (!out.passed || !previous) return out;
    if (sample_.kind == Kind::kSpeedup && !faster(answer, *previous))
      return finding("not_faster", answer);
    KW_TRY(out.question, question_about(*previous));
    return out;
  }

 private:
  static Finding bad_problem(const std::string& reason) {
    Finding out;
    out.outcome = "bad_problem";
    out.reason = printable(reason, 300);
    return out;
  }

  Result<Judged> judge(const std::string& text) {
    Judged out;
    runlog::Answered answered;
    answered.by = "data";
    answered.finish = runlog::Finish::kStop;
    out.reading =
        search::read_answer(problem_, language_, answered, text, shown_code(sample_.messages));
    if (!out.reading.candidate) return out;
    gym::EvalRequest request;
    request.problem = problem_;
    request.candidate = *out.reading.candidate;
    request.options = options_;
    KW_TRY(out.verdict, evaluator_.judge(std::move(request), stop_));
    return out;
  }

  static bool faster(const Judged& answer, const Judged& previous) {
    const auto& now = answer.verdict->speedup;
    const auto& before = previous.verdict->speedup;
    return now && before && now->low > before->high;
  }

  // outcome: "" is the verdict's own.
  static Finding finding(const std::string& outcome, const Judged& judged) {
    Finding out;
    if (!judged.verdict) {
      out.outcome = outcome.empty() ? "no_code" : outcome;
      out.reason = judged.reading.why_not;
      return out;
    }
    out.passed = outcome.empty() && judged.right();
    out.outcome = outcome.empty() ? std::string(to_string(judged.verdict->outcome)) : outcome;
    if (!out.passed) out.reason = reason_of(*judged.verdict);
    out.speedup = judged.verdict->speedup;
    out.evidence = std::filesystem::path(judged.verdict->evidence).filename().string();
    return out;
  }

  Result<std::vector<prompt::Message>> question_about(const Judged& previous) {
    KW_TRY(task::Signature signature, evaluator_.describe(problem_, options_.target));
    KW_TRY(prompt::Template chosen, prompt::template_named(sample_.pending->prompt_template));
    prompt::Refinement refinement;
    refinement.previous.why_not = previous.reading.why_not;
    if (previous.reading.candidate)
      refinement.previous.code = previous.reading.candidate->entry_source()->content;
    refinement.previous.verdict = previous.verdict;
    KW_TRY(prompt::ChatPrompt out,
           prompt::refinement_prompt(problem_, signature, language_, chosen, refinement, asking_));
    return std::move(out.messages);
  }

  const Sample& sample_;
  gym::EvalOptions options_;
  const prompt::PromptOptions& asking_;
  search::Evaluator& evaluator_;
  std::stop_token stop_;
  task::Problem problem_;
  task::Language language_ = task::Language::kCpp;
};

}  // namespace

Result<Finding> judge_sample(const Sample& sample, const gym::EvalOptions& options,
                             const prompt::PromptOptions& asking, search::Evaluator& evaluator,
                             const std::stop_token& stop) {
  return SampleJudge(sample, options, asking, evaluator, stop).run();
}

}  // namespace kw::data
