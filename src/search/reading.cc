#include "search/reading.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "prompt/extract.h"
#include "prompt/problem_prompt.h"
#include "task/candidate_source.h"

namespace kw::search {
namespace {

using runlog::Finish;
using task::Progress;

// The worst output of the worst workload; none where it is not finite.
std::optional<double> error_of(const task::Verdict& verdict) {
  double worst = 0;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    for (const task::OutputError& error : workload.errors) {
      if (!std::isfinite(error.max_of_budget)) return std::nullopt;
      worst = std::max(worst, error.max_of_budget);
    }
  }
  return worst;
}

}  // namespace

Reading read_answer(const task::Problem& problem, task::Language language,
                    const runlog::Answered& answered, const std::string& text,
                    const std::vector<std::string>& shown) {
  if (answered.finish == Finish::kContext)
    return {std::nullopt, "the prompt left no room for an answer", "no_room"};
  if (answered.finish == Finish::kRefused)
    return {std::nullopt, "whoever serves the model kept the answer back (content_filter)",
            "kept_back"};
  prompt::ExtractOptions options;
  options.entry = prompt::entry_of(problem, language);
  options.finish = answered.finish == Finish::kLength ? prompt::FinishReason::kLength
                                                      : prompt::FinishReason::kStop;
  options.shown = shown;
  prompt::Extraction extraction = prompt::extract_code(text, language, options);
  if (extraction.outcome != prompt::Extracted::kCode)
    return {std::nullopt, std::move(extraction.why_not),
            std::string(prompt::to_string(extraction.outcome))};
  auto candidate = task::candidate_from_files(language, std::move(extraction.files));
  if (!candidate) return {std::nullopt, candidate.error().message(), "bad_files"};
  candidate->name = fmt::format("attempt_{}", answered.attempt);
  candidate->definition = problem.name;
  candidate->author = answered.by;
  candidate->description = answered.label;
  return {std::move(*candidate), "", ""};
}

runlog::Judged summary_of(const task::Verdict& verdict) {
  runlog::Judged out;
  out.outcome = verdict.outcome;
  out.violation = verdict.violation;
  out.progress = task::progress_of(verdict.outcome);
  if (out.progress == Progress::kRightShape) out.error = error_of(verdict);
  if (out.progress == Progress::kCorrect) out.speedup = verdict.speedup;
  return out;
}

}  // namespace kw::search
