// The gym's findings become a row, and a row becomes text.
#include "kernelwright/problems/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "kernelwright/error_text.h"

namespace kw::front {
namespace {

using gym::QuarantineCause;

constexpr std::size_t kShownTitle = 120, kShownReason = 600, kTableReason = 300;

constexpr std::array<std::pair<CheckVerdict, std::string_view>, 5> kVerdicts = {{
    {CheckVerdict::kAdmitted, "admitted"},
    {CheckVerdict::kQuarantined, "quarantined"},
    {CheckVerdict::kReferenceFailed, "reference_failed"},
    {CheckVerdict::kUnreadable, "unreadable"},
    {CheckVerdict::kNotChecked, "not_checked"},
}};

std::string_view cause_name(QuarantineCause cause) {
  switch (cause) {
    case QuarantineCause::kReferenceFailed:
      return "";
    case QuarantineCause::kReferenceUnfit:
      return "unfit_reference";
    case QuarantineCause::kTrivialCandidate:
      return "trivial_candidate";
    case QuarantineCause::kInertInput:
      return "inert_input";
  }
  return "";
}

bool contains(const std::vector<task::Target>& list, task::Target target) {
  return std::find(list.begin(), list.end(), target) != list.end();
}

// The workloads of this target at which the quarantine's reason holds.
std::vector<std::string> failing_at(const ProblemReport& report, task::Target target,
                                    const gym::Quarantine& quarantine) {
  std::vector<std::string> out;
  bool of_reference = quarantine.names.empty();
  for (const ProblemReport::Workload& workload : report.workloads) {
    if (!workload.checked || !contains(workload.targets, target)) continue;
    if (!of_reference || !workload.findings.failure.empty()) out.push_back(workload.uuid);
  }
  return out;
}

// Enough to find it.
std::string short_name(const ProblemReport::Workload& workload) {
  return printable(workload.label.empty() ? workload.uuid.substr(0, 8) : workload.label, 40);
}

// "all 3 workloads", "main", "main and 1 more"; nothing where there is one workload only.
std::string failing_text(const ProblemReport& report) {
  if (report.failing.empty() || report.workloads.size() < 2) return {};
  if (report.failing.size() == report.workloads.size())
    return fmt::format("all {} workloads", report.workloads.size());
  auto first = std::find_if(report.workloads.begin(), report.workloads.end(),
                            [&](const auto& w) { return w.uuid == report.failing.front(); });
  std::string out = first == report.workloads.end() ? "" : short_name(*first);
  if (report.failing.size() > 1) out += fmt::format(" and {} more", report.failing.size() - 1);
  return out;
}

// Trivial candidates that one workload lets pass and another catches, for the problem's author.
std::string weak_text(const ProblemReport& report) {
  std::map<std::string, std::vector<std::string>> where;
  for (const ProblemReport::Workload& workload : report.workloads) {
    for (const std::string& name : workload.findings.passing)
      where[name].push_back(short_name(workload));
  }
  std::vector<std::string> out;
  for (const auto& [name, workloads] : where)
    out.push_back(fmt::format("{} passes on {}", name, join(workloads, ", ")));
  return join(out, "; ");
}

Json workload_json(const ProblemReport::Workload& workload) {
  const gym::AdmissionFindings& findings = workload.findings;
  Json out = {{"uuid", workload.uuid},
              {"label", workload.label},
              {"targets", workload.targets},
              {"checked", workload.checked}};
  if (!workload.checked) return out;
  out["failure"] = findings.failure;
  out["reference_failed"] = findings.reference_failed;
  out["timed"] = findings.timed;
  out["passing"] = findings.passing;
  out["inert"] = findings.inert;
  out["reference_ms"] = findings.reference_ms ? Json(*findings.reference_ms) : Json(nullptr);
  return out;
}

Result<ProblemReport::Workload> workload_from_json(const Json& value, const std::string& where) {
  ProblemReport::Workload out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(out.uuid, reader.string("uuid"));
  KW_TRY(out.label, reader.string("label"));
  KW_TRY(const std::vector<std::string> names, reader.strings_or_empty("targets"));
  auto targets = task::parse_targets(names);
  if (!targets)
    return tl::unexpected(std::move(targets).error().with_context(reader.path("targets")));
  out.targets = *std::move(targets);
  KW_TRY(out.checked, reader.boolean("checked"));
  KW_TRY(out.findings.failure, reader.string_or("failure", ""));
  KW_TRY(out.findings.reference_failed, reader.boolean_or("reference_failed", false));
  KW_TRY(out.findings.timed, reader.boolean_or("timed", false));
  KW_TRY(out.findings.passing, reader.strings_or_empty("passing"));
  KW_TRY(out.findings.inert, reader.strings_or_empty("inert"));
  if (reader.find("reference_ms") != nullptr) {
    KW_TRY(out.findings.reference_ms, reader.number("reference_ms"));
  }
  return out;
}

// A cell: one line, and no "|" of its own.
std::string cell(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (char c : printable(one_line(text), max_bytes)) {
    if (c == '|' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void describe_problem(ProblemReport& report, const task::Problem& problem) {
  report.name = problem.name;
  report.kind = problem.is_module() ? "module" : "definition";
  report.hash = problem.hash;
  report.family = problem.policy.family;
  if (!problem.is_module()) return;
  report.level = problem.module().level;
  report.problem_id = problem.module().problem_id;
}

}  // namespace

std::string_view to_string(CheckVerdict verdict) {
  for (const auto& [known, name] : kVerdicts) {
    if (known == verdict) return name;
  }
  return "?";
}

std::optional<double> ProblemReport::reference_ms() const {
  std::optional<double> out;
  for (const Workload& workload : workloads) {
    if (auto ms = workload.findings.reference_ms) out = std::max(out.value_or(0), *ms);
  }
  return out;
}

std::string ProblemReport::title() const {
  return level > 0 ? fmt::format("{}/{}", level, name) : name;
}

ProblemReport report_of(const task::LoadedProblem& unreadable) {
  ProblemReport report;
  report.name = unreadable.name;
  report.origin = unreadable.origin;
  if (!unreadable.problem) report.reason = unreadable.problem.error().message();
  return report;
}

ProblemReport report_of(const task::Problem& problem, const std::string& origin,
                        const gym::ProblemCheck& check) {
  ProblemReport report;
  rename(report, problem, origin);
  for (const task::Workload& workload : problem.workloads) {
    const task::WorkloadPolicy& policy = problem.workload_policy(workload.uuid);
    ProblemReport::Workload row{workload.uuid, policy.label, policy.targets, false, {}};
    for (const gym::ProblemCheck::Workload& checked : check.workloads) {
      if (checked.uuid != workload.uuid) continue;
      row.checked = true;
      row.findings = checked.findings;
    }
    report.workloads.push_back(std::move(row));
  }
  report.verdict = check.targets.empty() ? CheckVerdict::kNotChecked : CheckVerdict::kAdmitted;
  if (check.targets.empty()) report.reason = "none of its workloads is for the CPU";
  for (const gym::ProblemCheck::Target& target : check.targets) {
    if (!target.quarantine) continue;
    const gym::Quarantine& quarantine = *target.quarantine;
    bool failed = quarantine.cause == QuarantineCause::kReferenceFailed;
    report.verdict = failed ? CheckVerdict::kReferenceFailed : CheckVerdict::kQuarantined;
    report.cause = cause_name(quarantine.cause);
    report.reason = quarantine.reason;
    if (target.target != task::Target::kCpu)
      report.reason = fmt::format("target {}: {}", to_string(target.target), report.reason);
    report.names = quarantine.names;
    report.failing = failing_at(report, target.target, quarantine);
    break;
  }
  return report;
}

void rename(ProblemReport& report, const task::Problem& problem, const std::string& origin) {
  describe_problem(report, problem);
  report.origin = origin;
}

Json to_json(const ProblemReport& report) {
  Json workloads = Json::array();
  for (const ProblemReport::Workload& workload : report.workloads)
    workloads.push_back(workload_json(workload));
  return {{"name", report.name},    {"origin", report.origin},
          {"kind", report.kind},    {"family", report.family},
          {"level", report.level},  {"problem_id", report.problem_id},
          {"hash", report.hash},    {"verdict", to_string(report.verdict)},
          {"cause", report.cause},  {"reason", report.reason},
          {"names", report.names},  {"failing", report.failing},
          {"workloads", workloads}, {"seconds", report.seconds}};
}

Result<ProblemReport> problem_report_from_json(const Json& value) {
  ProblemReport out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(out.origin, reader.string("origin"));
  KW_TRY(out.kind, reader.string("kind"));
  KW_TRY(out.family, reader.string("family"));
  KW_TRY(out.level, reader.integer("level"));
  KW_TRY(out.problem_id, reader.integer("problem_id"));
  KW_TRY(out.hash, reader.string("hash"));
  KW_TRY(std::string verdict, reader.string("verdict"));
  const auto* known = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                   [&](const auto& row) { return row.second == verdict; });
  if (known == kVerdicts.end())
    return fail(ErrorCode::kInvalidArgument, "verdict: unknown \"{}\"", printable(verdict, 40));
  out.verdict = known->first;
  KW_TRY(out.cause, reader.string("cause"));
  KW_TRY(out.reason, reader.string("reason"));
  KW_TRY(out.names, reader.strings_or_empty("names"));
  KW_TRY(out.failing, reader.strings_or_empty("failing"));
  KW_TRY(out.seconds, reader.number("seconds"));
  KW_TRY(const Json* workloads, reader.get("workloads"));
  if (!workloads->is_array())
    return fail(ErrorCode::kInvalidArgument, "workloads: expected a list");
  for (const Json& workload : *workloads) {
    KW_TRY(ProblemReport::Workload row,
           workload_from_json(workload, fmt::format("workloads[{}]", out.workloads.size())));
    out.workloads.push_back(std::move(row));
  }
  return out;
}

std::string report_line(const ProblemReport& report) {
  std::string line =
      fmt::format("{:<16}  {}", to_string(report.verdict), printable(report.title(), kShownTitle));
  if (!report.reason.empty()) line += "  " + printable(one_line(report.reason), kShownReason);
  if (std::string where = failing_text(report); !where.empty()) line += " (" + where + ")";
  if (report.admitted()) {
    if (std::string weak = weak_text(report); !weak.empty())
      line += fmt::format("  ({}: other workloads catch it)", weak);
  }
  return line + "\n";
}

std::string markdown_table(const std::vector<const ProblemReport*>& reports) {
  std::string out = fmt::format("# Admission of {} problems\n\n", reports.size());
  std::map<CheckVerdict, std::size_t> counts;
  for (const ProblemReport* report : reports) ++counts[report->verdict];
  std::vector<std::string> said;
  for (const auto& [verdict, count] : counts)
    said.push_back(fmt::format("{} {}", count, to_string(verdict)));
  out += join(said, ", ") +
         "\n\n| problem | family | verdict | reason | trivial candidate that passes | workload | "
         "reference |\n|---|---|---|---|---|---|---|\n";
  for (const ProblemReport* report : reports) {
    bool trivial = report->cause == "trivial_candidate";
    std::string workload = failing_text(*report);
    if (workload.empty() && !report->failing.empty() && !report->workloads.empty())
      workload = short_name(report->workloads.front());
    std::string weak = report->admitted() ? weak_text(*report) : "";
    std::optional<double> reference_ms = report->reference_ms();
    std::string time = reference_ms ? format_ms(*reference_ms) : "";
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(report->title(), kShownTitle),
                       cell(report->family, 60), to_string(report->verdict),
                       trivial ? "trivial candidates pass" : cell(report->reason, kTableReason),
                       cell(trivial ? join(report->names, ", ") : weak, kTableReason),
                       cell(workload, 80), time);
  }
  return out;
}

std::string counts_text(const std::vector<const ProblemReport*>& reports) {
  std::map<CheckVerdict, std::size_t> verdicts;
  std::map<std::string, std::map<std::string, std::size_t>> causes;  // names by cause
  std::map<std::string, std::size_t> by_cause;
  for (const ProblemReport* report : reports) {
    ++verdicts[report->verdict];
    if (report->cause.empty()) continue;
    ++by_cause[report->cause];
    if (report->cause != "trivial_candidate") continue;
    for (const std::string& name : report->names) ++causes[report->cause][name];
  }
  std::string out;
  for (const auto& [verdict, count] : verdicts) {
    out += fmt::format("  {:<18} {}\n", to_string(verdict), count);
    if (verdict != CheckVerdict::kQuarantined) continue;
    for (const auto& [cause, number] : by_cause) {
      std::vector<std::string> names;
      for (const auto& [name, times] : causes[cause])
        names.push_back(fmt::format("{} {}", name, times));
      out += fmt::format("    {:<16} {}{}{}\n", cause, number, names.empty() ? "" : ": ",
                         join(names, ", "));
    }
  }
  return out;
}

}  // namespace kw::front
