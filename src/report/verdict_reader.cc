// FILE.verdicts.jsonl (a verdict in each commit), or the verdicts that `eval --json` prints.
#include <tuple>

#include "base/json.h"
#include "report/json_lines.h"
#include "report/readers.h"
#include "task/trace.h"

namespace kw::report {
namespace {

Result<task::Verdict> verdict_in(const Json& line) {
  KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
  if (!reader.has("verdict")) return task::verdict_from_json(line, "");
  KW_TRY(const Json* verdict, reader.get("verdict"));
  return task::verdict_from_json(*verdict, "verdict");
}

// The traces beside FILE.verdicts.jsonl know the machine.
std::string hardware_beside(const std::filesystem::path& file) {
  constexpr std::string_view kSuffix = ".verdicts.jsonl";
  std::string path = file.string(), hardware;
  if (!path.ends_with(kSuffix)) return "";
  path.resize(path.size() - kSuffix.size());
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return "";
  auto read = read_json_lines(path, [&](const Json& line) -> Status {
    KW_TRY(task::Trace trace, task::trace_from_json(line, ""));
    if (trace.evaluation && hardware.empty()) hardware = trace.evaluation->environment.hardware;
    return {};
  });
  return read ? hardware : "";
}

void add_value(std::string& known, const std::string& value) {
  if (known.empty()) known = value;
  if (known != value) known = kSeveral;
}

}  // namespace

Attempt attempt_of(const task::Verdict& verdict) {
  Attempt out;
  out.progress = task::progress_of(verdict);
  out.outcome = std::string(outcome_name(verdict));
  out.violation = verdict.violation;
  if (verdict.speedup)
    out.speedup = {verdict.speedup->median, verdict.speedup->low, verdict.speedup->high};
  out.spent.seconds = verdict.cost.total_ms / 1000;
  out.proposer = verdict.candidate_name;
  out.language = verdict.language;
  out.diagnostics = verdict.diagnostics;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    out.diagnostics.insert(out.diagnostics.end(), workload.diagnostics.begin(),
                           workload.diagnostics.end());
  }
  return out;
}

Result<Run> read_verdicts(const std::filesystem::path& file) {
  Run run;
  run.kind = "verdicts";
  ProblemList problems(run);
  // Problem, candidate, its name and the target make an attempt; its place among the problem's.
  std::map<std::tuple<std::string, std::string, std::string, task::Target>, std::size_t> places;
  std::int64_t not_judged = 0, again = 0;
  auto add = [&](const task::Verdict& verdict) {
    ProblemRecord& problem = problems.at(verdict.problem_name, verdict.problem_hash);
    auto [place, is_new] = places.try_emplace(
        {problem.name, verdict.candidate_hash, verdict.candidate_name, verdict.target},
        problem.attempts.size());
    if (is_new) problem.attempts.emplace_back();
    if (!is_new) ++again;
    Attempt& attempt = problem.attempts[place->second];
    attempt = attempt_of(verdict);
    attempt.id = std::to_string(place->second);
    add_value(run.baseline, verdict.baseline);
    add_value(run.target, std::string(to_string(verdict.target)));
  };
  KW_TRY(LinesRead lines, read_json_lines(file, [&](const Json& line) -> Status {
           if (line.is_object() && line.size() == 1 && line.contains("error")) {
             ++not_judged;  // of `eval --json`, where we failed
             return {};
           }
           KW_TRY(task::Verdict verdict, verdict_in(line));
           add(verdict);
           return {};
         }));
  if (lines.cut) run.notes.emplace_back("the last line is cut and was left out");
  if (again > 0)
    run.notes.push_back(
        fmt::format("{} verdicts are of candidates judged again: the last counts", again));
  if (not_judged > 0)
    run.notes.push_back(
        fmt::format("{} candidates could not be judged and are not counted", not_judged));
  run.hardware = hardware_beside(file);
  return run;
}

}  // namespace kw::report
