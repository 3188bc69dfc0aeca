// The folder of `kernelwright solve`.
#include <algorithm>
#include <system_error>

#include "base/text.h"
#include "os/file.h"
#include "report/read_run.h"
#include "report/readers.h"
#include "runlog/run_folder.h"
#include "task/solution_json.h"

namespace kw::report {
namespace fs = std::filesystem;
namespace {

// Why an attempt has no verdict.
std::string outcome_without_code(const runlog::Attempt& attempt) {
  if (!attempt.answered) return "no_code";
  switch (attempt.answered->finish) {
    case runlog::Finish::kStop:
      return "no_code";
    case runlog::Finish::kLength:
      return "cut_answer";
    case runlog::Finish::kContext:
      return "prompt_too_long";
    case runlog::Finish::kRefused:
      return "refused";
  }
  return "no_code";
}

// Reads what an attempt points to. A blob that is lost is said where it would stand: the numbers
// are all in the events.
class Blobs {
 public:
  explicit Blobs(fs::path folder) : folder_(std::move(folder)) {}

  void add_texts(const runlog::Attempt& from, Attempt& to) const {
    if (from.extracted && !from.extracted->candidate.empty()) {
      if (auto code = code_of(from.extracted->candidate))
        to.code = excerpt(*code, kMaxText);
      else
        say(code.error(), to);
    } else if (from.answered && !from.answered->answer.empty()) {
      if (auto answer = get(from.answered->answer))
        to.answer = excerpt(*answer, kMaxText);
      else
        say(answer.error(), to);
    }
    if (!from.judged || from.judged->verdict.empty()) return;
    auto verdict = verdict_of(from.judged->verdict);
    if (!verdict) return say(verdict.error(), to);
    for (task::Diagnostic& diagnostic : report::attempt_of(*verdict).diagnostics)
      to.diagnostics.push_back(std::move(diagnostic));
  }

 private:
  static void say(const Error& error, Attempt& to) {
    to.diagnostics.push_back({"report", error.message()});
  }
  // Bytes of others on a page of text.
  Result<std::string> get(const std::string& hash) const {
    KW_TRY(std::string bytes, runlog::RunFolder::get(folder_, hash));
    return is_valid_utf8(bytes) ? bytes : printable(bytes, bytes.size());
  }
  Result<std::string> code_of(const std::string& hash) const {
    KW_TRY(std::string text, get(hash));
    KW_TRY(Json json, parse_json(text));
    KW_TRY(task::Candidate candidate, task::solution_from_json(json, "candidate"));
    std::string out;
    for (const task::SourceFile& source : candidate.sources) {
      if (candidate.sources.size() > 1) out += "==== " + source.path + "\n";
      out += source.content;
    }
    return out;
  }
  Result<task::Verdict> verdict_of(const std::string& hash) const {
    KW_TRY(std::string text, get(hash));
    KW_TRY(Json json, parse_json(text));
    return task::verdict_from_json(json, "verdict");
  }

  fs::path folder_;
};

Attempt attempt_of(const runlog::Attempt& from) {
  Attempt out;
  out.id = std::to_string(from.id);
  if (from.decided.parent >= 0) out.parent = std::to_string(from.decided.parent);
  out.progress = from.progress();
  if (from.answered) {
    out.proposer = from.answered->by;
    if (!from.answered->label.empty()) out.proposer += ", " + from.answered->label;
    out.prompt_tokens = from.answered->usage.prompt_tokens;
    out.completion_tokens = from.answered->usage.completion_tokens;
    out.cost_usd = from.answered->usage.cost_usd;
    out.seconds += from.answered->wall_ms / 1000;
  }
  if (!from.judged) {
    out.outcome = outcome_without_code(from);
    if (from.extracted && !from.extracted->why_not.empty())
      out.diagnostics.push_back({"extraction", from.extracted->why_not});
    return out;
  }
  out.outcome = std::string(to_string(from.judged->outcome));
  out.violation = from.judged->violation;
  if (const auto& speedup = from.judged->speedup)
    out.speedup = {speedup->median, speedup->low, speedup->high};
  out.seconds += from.judged->wall_ms / 1000;
  return out;
}

// Samples of one distribution: no parents, no program that looks at what came before, and no end
// that depends on them.
bool independent(const runlog::ProblemTree& problem) {
  bool alone = std::all_of(problem.attempts.begin(), problem.attempts.end(), [](const auto& a) {
    return a.decided.parent < 0 && (!a.answered || a.answered->label.empty());
  });
  bool stopped = problem.ended && (problem.ended->end == runlog::End::kFirstCorrect ||
                                   problem.ended->end == runlog::End::kTarget);
  return alone && !stopped;
}

std::string failure_of(const runlog::ProblemTree& problem) {
  if (!problem.ended) return problem.started ? "not finished" : "not begun";
  switch (problem.ended->end) {
    case runlog::End::kQuarantined:
    case runlog::End::kUnsupported:
    case runlog::End::kFailed:
      return fmt::format("{}: {}", to_string(problem.ended->end), problem.ended->reason);
    default:
      return "";
  }
}

}  // namespace

Result<Run> read_run_folder(const fs::path& folder, bool texts) {
  KW_TRY(runlog::Run log, runlog::RunFolder::read(folder));
  Run run;
  run.kind = "solve";
  run.finished = log.ended;
  run.wall_seconds = static_cast<double>(log.last_ms) / 1000;
  if (auto settings = os::read_file(folder / "run.toml"))
    run.settings = printable(*settings, kMaxText);
  else
    run.notes.push_back("no settings: " + settings.error().message());
  Blobs blobs(folder);
  std::size_t under_way = 0, abandoned = 0;
  for (const runlog::ProblemTree& problem : log.problems) {
    ProblemRecord& record = run.problems.emplace_back();
    record.name = problem.key;
    record.hash = problem.hash;
    record.failure = failure_of(problem);
    run.independent = run.independent && independent(problem);
    for (const runlog::Attempt& attempt : problem.attempts) {
      if (!attempt.finished() || attempt.abandoned) {
        ++(attempt.abandoned ? abandoned : under_way);
        continue;
      }
      record.attempts.push_back(attempt_of(attempt));
      if (texts) blobs.add_texts(attempt, record.attempts.back());
    }
  }
  if (!run.finished) run.notes.emplace_back("the run is not finished");
  if (under_way > 0)
    run.notes.push_back(fmt::format("{} attempts without a verdict are not counted", under_way));
  if (abandoned > 0)
    run.notes.push_back(fmt::format(
        "{} attempts could not be judged, by no fault of theirs: not counted", abandoned));
  return run;
}

}  // namespace kw::report
