#include "data/judge_sample.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "data/generator_origin.h"
#include "gym_environment/read_answer.h"
#include "prompt/blocks.h"
#include "prompt/templates.h"
#include "task/candidate.h"
#include "task/target.h"

namespace kw::data {
namespace {

using task::Outcome;

std::vector<std::string> shown_code(const std::vector<text::ChatMessage>& messages) {
  std::vector<std::string> out;
  for (const text::ChatMessage& message : messages) {
    if (message.role == "assistant") continue;
    for (prompt::CodeBlock& block : prompt::code_blocks(message.content))
      out.push_back(std::move(block.code));
  }
  return out;
}

std::string reason_of(const task::Verdict& verdict) {
  if (verdict.outcome == Outcome::kViolation) return verdict.violation;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    if (task::is_borderline(verdict) && !workload.borderline) continue;
    if (workload.outcome == verdict.outcome && !workload.diagnostics.empty())
      return printable(workload.diagnostics[0].message, 300);
  }
  if (!verdict.diagnostics.empty()) return printable(verdict.diagnostics[0].message, 300);
  return "";
}

struct Judged {
  gym_environment::Reading reading;
  std::optional<task::Verdict> verdict;  // the verdict of code that could be extracted

  bool right() const {
    return verdict && !task::is_borderline(*verdict) &&
           (verdict->outcome == Outcome::kPassed ||
            (verdict->outcome == Outcome::kNoisy && verdict->kernelbench.correctness));
  }
  // True where the verdict is no fault of the answer: the problem is broken, or this machine cannot
  // judge it.
  bool says_nothing() const {
    return verdict && !right() && !task::is_borderline(*verdict) &&
           !task::is_candidates_fault(verdict->outcome);
  }
};

class SampleJudge {
 public:
  SampleJudge(const Sample& sample, const gym::EvalOptions& options,
              const prompt::PromptOptions& asking, gym::Judge& judge, std::stop_token stop)
      : sample_(sample), options_(options), asking_(asking), judge_(judge), stop_(std::move(stop)) {
    options_.timing = options_.timing || (sample.pending && sample.kind == Kind::kSpeedup);
  }

  Result<SampleVerdict> run() {
    KW_CHECK(sample_.problem);
    auto problem = task::problem_of(*sample_.problem, sample_.id);
    if (!problem) return bad_problem(problem.error().message());
    problem_ = std::move(*problem);
    const auto language = task::language_from_string(sample_.language);
    if (!language) return bad_problem("unknown language " + sample_.language);
    language_ = *language;
    auto others = resized_problems(*sample_.problem, sample_.id);
    if (!others) return bad_problem(others.error().message());
    others_ = std::move(*others);
    choose_judged();
    KW_TRY(const std::string misfit, misfit_of_plan(sample_));
    if (!misfit.empty()) return not_judged("wrong_plan", misfit, Fault::kAnswer);
    std::optional<Judged> previous;
    if (sample_.pending) {
      KW_TRY(previous, judge(sample_.pending->previous));
      const bool repair = sample_.kind == Kind::kRepair;
      if (previous->says_nothing()) return verdict_of(*previous);
      if (repair && previous->right()) return no_pair("not_wrong", *previous);
      if (!repair && !previous->right()) return no_pair("not_right", *previous);
    }
    KW_TRY(Judged answer, judge(sample_.answer()));
    SampleVerdict out = verdict_of(answer);
    if (!out.passed) return out;
    KW_TRY(const std::optional<SampleVerdict> elsewhere,
           failure_at_other_sizes(answer, out.size_sets));
    if (elsewhere) return *elsewhere;
    if (!previous) return out;
    if (sample_.kind == Kind::kSpeedup && !faster(answer, *previous))
      return no_pair("not_faster", answer);
    KW_TRY(out.question, question_about(*previous));
    return out;
  }

 private:
  static SampleVerdict not_judged(const std::string& outcome, const std::string& reason,
                                  Fault fault) {
    SampleVerdict out;
    out.outcome = outcome;
    out.reason = printable(reason, 300);
    out.fault = fault;
    return out;
  }
  static SampleVerdict bad_problem(const std::string& reason) {
    return not_judged("bad_problem", reason, Fault::kProblem);
  }

  Result<Judged> judge(const std::string& text) {
    Judged out;
    out.reading =
        gym_environment::read_answer(problem_, language_, text, text::Finish::kStop,
                                     {"attempt_0", "data", ""}, shown_code(sample_.messages));
    if (!out.reading.candidate) return out;
    gym::EvalRequest request;
    request.problem = judged_;
    request.candidate = *out.reading.candidate;
    request.options = options_;
    KW_TRY(out.verdict, judge_.judge(std::move(request), stop_));
    return out;
  }

  // Chooses the problem to judge first. A module that is too large for the interpreter of Triton,
  // as its policy says, is judged at the first of its other size sets.
  void choose_judged() {
    judged_ = problem_;
    if (!task::is_interpreted(language_, options_.target) || others_.empty()) return;
    const auto policy = problem_.policy.workloads.find(problem_.workloads[0].uuid);
    if (policy == problem_.policy.workloads.end()) return;
    const std::vector<task::Target>& targets = policy->second.targets;
    if (std::ranges::find(targets, task::workload_target(language_, options_.target)) !=
        targets.end())
      return;
    judged_ = std::move(others_.front());
    others_.erase(others_.begin());
  }

  // The same candidate for the module at other sizes; those at which it is right are added to
  // `size_sets`.
  Result<std::optional<SampleVerdict>> failure_at_other_sizes(const Judged& answer,
                                                              int& size_sets) {
    KW_CHECK(answer.reading.candidate);
    for (const task::Problem& problem : others_) {
      gym::EvalRequest request;
      request.problem = problem;
      request.candidate = *answer.reading.candidate;
      request.options = options_;
      request.options.timing = false;
      KW_TRY(task::Verdict verdict, judge_.judge(std::move(request), stop_));
      if (task::is_candidates_fault(verdict.outcome) || task::is_borderline(verdict)) {
        SampleVerdict out = verdict_of({answer.reading, std::move(verdict)});
        out.cause = std::exchange(out.outcome, "wrong_at_other_sizes");
        return std::optional(std::move(out));
      }
      // Other outcomes here are no fault of the answer.
      if (verdict.outcome == Outcome::kPassed) ++size_sets;
    }
    return std::optional<SampleVerdict>();
  }

  static bool faster(const Judged& answer, const Judged& previous) {
    if (!answer.verdict || !previous.verdict) return false;
    const auto& now = answer.verdict->speedup;
    const auto& before = previous.verdict->speedup;
    return now && before && now->low > before->high;
  }

  static SampleVerdict verdict_of(const Judged& judged) {
    SampleVerdict out;
    out.fault = Fault::kAnswer;
    if (!judged.verdict) {
      out.outcome = "no_code";
      out.cause = judged.reading.cause;
      out.reason = judged.reading.why_not;
      return out;
    }
    out.passed = judged.right();
    if (out.passed) out.size_sets = static_cast<int>(judged.verdict->workloads.size());
    out.outcome = task::outcome_name(*judged.verdict);
    out.cause = judged.verdict->violation;
    if (!out.passed) out.reason = reason_of(*judged.verdict);
    if (out.passed) out.fault = Fault::kNone;
    if (judged.says_nothing()) out.fault = Fault::kProblem;
    out.speedup = judged.verdict->speedup;
    out.evidence = std::filesystem::path(judged.verdict->evidence).filename().string();
    return out;
  }

  // A pair of answers that does not show a repair or a speed-up.
  static SampleVerdict no_pair(const std::string& outcome, const Judged& judged) {
    SampleVerdict out = verdict_of(judged);
    if (!out.passed) out.cause = out.outcome;
    if (judged.verdict) out.reason = reason_of(*judged.verdict);
    out.outcome = outcome;
    out.passed = false;
    out.fault = Fault::kNone;
    return out;
  }

  Result<std::vector<text::ChatMessage>> question_about(const Judged& previous) {
    KW_CHECK(sample_.pending);
    KW_TRY(task::Signature signature, judge_.describe(problem_, options_.target));
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
  gym::Judge& judge_;
  std::stop_token stop_;
  task::Problem problem_, judged_;
  // The module at other sizes, without the one that is judged first.
  std::vector<task::Problem> others_;
  task::Language language_ = task::Language::kCpp;
};

}  // namespace

Result<SampleVerdict> judge_sample(const Sample& sample, const gym::EvalOptions& options,
                                   const prompt::PromptOptions& asking, gym::Judge& judge,
                                   const std::stop_token& stop) {
  return SampleJudge(sample, options, asking, judge, stop).run();
}

}  // namespace kw::data
