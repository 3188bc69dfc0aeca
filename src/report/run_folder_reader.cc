// The folder of `kernelwright solve`.
#include <algorithm>
#include <map>
#include <system_error>

#include "base/text.h"
#include "os/file.h"
#include "report/format.h"
#include "report/read_run.h"
#include "report/readers.h"
#include "runlog/candidate_text.h"
#include "runlog/run_folder.h"

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

// A label is the strategy of a program's candidate, or what is suspicious about a model's answer
// (openai::Suspicion).
bool is_suspicion(std::string_view label) {
  return label == "empty" || label == "prompt_echo" || label == "template_tokens";
}

bool is_by_program(const runlog::Attempt& attempt) {
  return attempt.answered && !attempt.answered->label.empty() &&
         !is_suspicion(attempt.answered->label);
}

// Reads what an attempt points to. A blob that is lost is said where it would stand: the numbers
// are all in the events.
class Blobs {
 public:
  explicit Blobs(fs::path folder) : folder_(std::move(folder)) {}

  void add_texts(const runlog::Attempt& from, Attempt& to) const {
    if (from.extracted && !from.extracted->candidate.empty()) {
      if (auto read = add_code(from.extracted->candidate, to); !read) say(read.error(), to);
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
  Status add_code(const std::string& hash, Attempt& to) const {
    KW_TRY(std::string text, get(hash));
    KW_TRY(task::Candidate candidate, runlog::candidate_from_text(text));
    std::string code;
    for (const task::SourceFile& source : candidate.sources) {
      if (candidate.sources.size() > 1) code += "==== " + source.path + "\n";
      code += source.content;
    }
    to.language = task::to_string(candidate.language);
    to.code = excerpt(code, kMaxText);
    return {};
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
    if (from.extracted) out.why_no_code = from.extracted->why_not;
    if (!out.why_no_code.empty()) out.diagnostics.push_back({"extraction", out.why_no_code});
    if (from.answered && is_suspicion(from.answered->label))
      out.why_no_code += fmt::format(" ({})", from.answered->label);
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
  bool alone = std::all_of(problem.attempts.begin(), problem.attempts.end(),
                           [](const auto& a) { return a.decided.parent < 0 && !is_by_program(a); });
  bool stopped = problem.ended && (problem.ended->end == runlog::End::kFirstCorrect ||
                                   problem.ended->end == runlog::End::kTarget);
  return alone && !stopped;
}

// Of the settings' group "eval"; empty where it is not a text.
std::string eval_setting(const Json& settings, const char* key) {
  if (!settings.is_object() || !settings.contains("eval")) return "";
  const Json& eval = settings["eval"];
  return eval.is_object() && eval.contains(key) && eval[key].is_string()
             ? eval[key].get<std::string>()
             : "";
}

std::string why_given_up(const runlog::ProblemTree& problem) {
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

// Tries that failed through no fault of a candidate; what they cost is in no attempt.
std::string failed_tries(const runlog::Run& log) {
  std::map<std::string, int> kinds;
  int tries = 0;
  runlog::Usage usage;
  for (const runlog::ProblemTree& problem : log.problems) {
    for (const runlog::Failed& failed : problem.failures) {
      ++tries;
      ++kinds[runlog::kind_of(failed)];
      usage += failed.usage;
    }
  }
  if (tries == 0) return "";
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(fmt::format("{} {}", kind, count));
  std::string out =
      fmt::format("{} tries failed, by no fault of a candidate: {}", tries, join(counts, ", "));
  if (usage.tokens() > 0)
    out += fmt::format("; their {} tokens are in no attempt", tokens_text(usage.tokens()));
  if (usage.cost_usd > 0) out += fmt::format("; nor are their ${:.2f}", usage.cost_usd);
  return out;
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
  run.baseline = eval_setting(log.header.settings, "baseline");
  run.target = eval_setting(log.header.settings, "target");
  if (!log.hardware.empty())
    run.hardware = log.hardware.size() == 1 ? *log.hardware.begin() : std::string(kSeveral);
  Blobs blobs(folder);
  std::size_t under_way = 0, abandoned = 0;
  for (const runlog::ProblemTree& problem : log.problems) {
    ProblemRecord& record = run.problems.emplace_back();
    record.name = problem.key;
    record.hash = problem.hash;
    record.failure = why_given_up(problem);
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
  if (std::string failed = failed_tries(log); !failed.empty())
    run.notes.push_back(std::move(failed));
  return run;
}

}  // namespace kw::report
