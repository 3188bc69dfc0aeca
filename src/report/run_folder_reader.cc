// The folder of `kernelwright solve`.
#include <algorithm>
#include <map>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "os/file.h"
#include "report/format.h"
#include "report/read_run.h"
#include "report/readers.h"
#include "runlog/run_folder.h"
#include "runlog/stored.h"

namespace kw::report {
namespace fs = std::filesystem;
namespace {

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
    if (from.answered && !from.answered->reasoning.empty()) {
      if (auto reasoning = get(from.answered->reasoning))
        to.reasoning = excerpt(*reasoning, kMaxText);
      else
        say(reasoning.error(), to);
    }
    if (!from.judged || from.judged->verdict.empty()) return;
    auto verdict = runlog::stored_verdict(folder_, from.judged->verdict);
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
    KW_TRY(task::Candidate candidate, runlog::stored_candidate(folder_, hash));
    std::string code;
    for (const task::SourceFile& source : candidate.sources) {
      if (candidate.sources.size() > 1) code += "==== " + source.path + "\n";
      code += source.content;
    }
    to.language = task::to_string(candidate.language);
    to.code = excerpt(code, kMaxText);
    return {};
  }

  fs::path folder_;
};

Spent spent_of(const text::Usage& usage) {
  return {usage.prompt_tokens, usage.completion_tokens, usage.cost_usd, 0};
}

Spent spent_of(const runlog::Attempt& attempt, const std::vector<runlog::Failed>& failures) {
  Spent out;
  if (attempt.answered) {
    out = spent_of(attempt.answered->usage);
    out.seconds = attempt.answered->wall_ms / 1000;
  }
  if (attempt.judged) out.seconds += attempt.judged->wall_ms / 1000;
  for (const runlog::Failed& failed : failures) {
    if (failed.attempt == attempt.id) out += spent_of(failed.usage);
  }
  return out;
}

Attempt attempt_of(const runlog::Attempt& from) {
  Attempt out;
  out.id = std::to_string(from.id);
  if (from.decided.parent >= 0) out.parent = std::to_string(from.decided.parent);
  out.progress = from.progress();
  if (from.answered) {
    out.proposer = from.answered->by;
    if (!from.answered->label.empty()) out.proposer += ", " + from.answered->label;
  }
  if (!from.judged) {
    out.outcome = runlog::why_no_verdict(from);
    if (from.extracted) out.why_no_code = from.extracted->why_not;
    if (!out.why_no_code.empty()) out.diagnostics.push_back({"extraction", out.why_no_code});
    if (from.answered && !from.answered->suspicion.empty())
      out.why_no_code += fmt::format(" ({})", from.answered->suspicion);
    return out;
  }
  out.outcome = std::string(from.outcome_name());
  out.violation = from.judged->violation;
  if (const auto& speedup = from.judged->speedup)
    out.speedup = {speedup->median, speedup->low, speedup->high};
  return out;
}

// A setting of a group; empty where it is not a text.
std::string setting(const Json& settings, const char* group, const char* key) {
  if (!settings.is_object() || !settings.contains(group)) return "";
  const Json& found = settings[group];
  return found.is_object() && found.contains(key) && found[key].is_string()
             ? found[key].get<std::string>()
             : "";
}

// eager, compile, or the name of the candidate that speedups are over.
std::string baseline_of(const Json& settings) {
  if (std::string word = setting(settings, "eval", "baseline"); !word.empty()) return word;
  const Json::json_pointer name("/eval/baseline/solution/name");
  return settings.contains(name) && settings[name].is_string() ? settings[name].get<std::string>()
                                                               : "";
}

// Samples of one distribution: no parents, no program that looks at what came before, and no end
// that depends on them.
bool independent(const runlog::ProblemTree& problem) {
  bool alone = std::all_of(problem.attempts.begin(), problem.attempts.end(), [](const auto& a) {
    return a.decided.parent < 0 && !(a.answered && !a.answered->label.empty());
  });
  bool stopped = problem.ended && (problem.ended->end == runlog::End::kFirstCorrect ||
                                   problem.ended->end == runlog::End::kTarget);
  return alone && !stopped;
}

// What the settings say of it, where the log has them: a method that refines draws dependent
// attempts, also where by chance none of them has a parent.
bool may_be_independent(const Json& settings) {
  const std::string method = setting(settings, "search", "method");
  return method.empty() || method == "base" || method == "best_of_n";
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

// Tries that failed through no fault of a candidate.
std::string failed_tries(const runlog::Run& log) {
  std::map<std::string, int> kinds;
  int tries = 0;
  text::Usage usage;
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
  std::vector<std::string> cost;
  if (usage.tokens() > 0) cost.push_back(short_count(usage.tokens()) + " tokens");
  if (usage.cost_usd > 0) cost.push_back(fmt::format("${:.2f}", usage.cost_usd));
  if (!cost.empty()) out += fmt::format("; they cost {}, counted with all", join(cost, " and "));
  return out;
}

// Attempts that are not counted.
struct Left {
  std::size_t under_way = 0, abandoned = 0;
};

Left add_problems(const runlog::Run& log, const std::optional<Blobs>& blobs, Run& run) {
  Left out;
  for (const runlog::ProblemTree& problem : log.problems) {
    ProblemRecord& record = run.problems.emplace_back();
    record.name = problem.key;
    record.hash = problem.hash;
    record.failure = why_given_up(problem);
    run.independent = run.independent && independent(problem);
    for (const runlog::Attempt& attempt : problem.attempts) {
      const Spent spent = spent_of(attempt, problem.failures);
      if (!attempt.finished() || attempt.abandoned) {
        ++(attempt.abandoned ? out.abandoned : out.under_way);
        record.beside += spent;
        continue;
      }
      record.attempts.push_back(attempt_of(attempt));
      record.attempts.back().spent = spent;
      if (blobs) blobs->add_texts(attempt, record.attempts.back());
    }
  }
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
  run.baseline = baseline_of(log.header.settings);
  run.target = setting(log.header.settings, "eval", "target");
  if (!log.hardware.empty())
    run.hardware = log.hardware.size() == 1 ? *log.hardware.begin() : std::string(kSeveral);
  run.independent = may_be_independent(log.header.settings);
  const Left left = add_problems(log, texts ? std::optional<Blobs>(folder) : std::nullopt, run);
  for (const runlog::RunStarted::Unread& one : log.header.unread) {
    ProblemRecord& record = run.problems.emplace_back();
    record.name = one.name;
    record.failure = "unread: " + one.message;
  }
  if (!run.finished) run.notes.emplace_back("the run is not finished");
  if (left.under_way > 0)
    run.notes.push_back(
        fmt::format("{} attempts without a verdict are not counted", left.under_way));
  if (left.abandoned > 0)
    run.notes.push_back(fmt::format(
        "{} attempts could not be judged, by no fault of theirs: not counted", left.abandoned));
  if (std::string failed = failed_tries(log); !failed.empty())
    run.notes.push_back(std::move(failed));
  return run;
}

}  // namespace kw::report
