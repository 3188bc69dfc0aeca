// A row of the report of kernelwright problems check: what the admission battery says about one
// problem, as JSON, as a line of text and in a Markdown table. docs/formats/problem_check.md
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/problem_check.h"
#include "task/problem_source.h"
#include "task/target.h"

namespace kw::front {

enum class CheckVerdict {
  kAdmitted,
  kQuarantined,
  kReferenceFailed,  // it gave no outputs
  kUnreadable,       // no problem could be read
  kNotChecked        // no workload of it can run here
};
std::string_view to_string(CheckVerdict verdict);

struct ProblemReport {
  struct Workload {
    std::string uuid, label;
    std::vector<task::Target> targets;
    bool checked = false;
    gym::AdmissionFindings findings;
  };

  std::string name, origin;
  std::string kind, hash;  // empty: unreadable
  std::string family;
  std::int64_t level = 0, problem_id = 0;  // 0: unknown
  CheckVerdict verdict = CheckVerdict::kUnreadable;
  std::string cause;   // of a quarantine: trivial_candidate, inert_input or unfit_reference
  std::string reason;  // empty: admitted
  std::vector<std::string> names;    // the trivial candidates that pass, or the inert inputs
  std::vector<std::string> failing;  // uuids of the workloads that this is about
  std::vector<Workload> workloads;
  double seconds = 0;

  bool admitted() const { return verdict == CheckVerdict::kAdmitted; }
  // The slowest run of the reference over the workloads.
  std::optional<double> reference_ms() const;
  std::string title() const;  // "1/19_ReLU" where the level is known
};

ProblemReport report_of(const task::LoadedProblem& unreadable);
ProblemReport report_of(const task::Problem& problem, const std::string& origin,
                        const gym::ProblemCheck& check);

// The report gets the name and the place of another copy of the same problem.
void rename(ProblemReport& report, const task::Problem& problem, const std::string& origin);

// The object without schema, gym_version and limits, which belong to the run.
Json to_json(const ProblemReport& report);
Result<ProblemReport> problem_report_from_json(const Json& value);

// "quarantined       zeros_like  trivial candidates pass: zeros (all 3 workloads)\n"
std::string report_line(const ProblemReport& report);

// A heading, the counts, and a row for each problem.
std::string markdown_table(const std::vector<const ProblemReport*>& reports);

// "  admitted          10\n  quarantined       2\n    trivial_candidate ..."
std::string counts_text(const std::vector<const ProblemReport*>& reports);

}  // namespace kw::front
