#include "gym/evaluation/process_pairs.h"

#include <algorithm>
#include <optional>
#include <string>

#include "gym/measure/disturbance.h"
#include "task/verdict.h"

namespace kw::gym {
namespace {

void join_errors(std::vector<task::OutputError>& errors,
                 const std::vector<task::OutputError>& more) {
  for (std::size_t i = 0; i < std::min(errors.size(), more.size()); ++i) {
    errors[i].max_absolute = std::max(errors[i].max_absolute, more[i].max_absolute);
    errors[i].max_relative = std::max(errors[i].max_relative, more[i].max_relative);
    errors[i].max_of_budget = std::max(errors[i].max_of_budget, more[i].max_of_budget);
    errors[i].checked_calls += more[i].checked_calls;
  }
}

double nearest(const std::optional<task::Borderline>& borderline) {
  return borderline ? borderline->largest : 0;
}

template <typename T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

void add_process_pair(WorkloadReport& report, const WorkloadReport& more) {
  append(report.candidate_ns, more.candidate_ns);
  append(report.reference_ns, more.reference_ns);
  append(report.pair_samples, more.pair_samples);
  report.clock = std::max(report.clock, more.clock);
  append(report.diagnostics, more.diagnostics);
  report.blocks += more.blocks;
  report.disturbed_samples += more.disturbed_samples;
  report.disturbed_by_faults += more.disturbed_by_faults;
  report.audits += more.audits;
  report.candidate_page_faults += more.candidate_page_faults;
  report.reference_page_faults += more.reference_page_faults;
  report.candidate_waited_ns += more.candidate_waited_ns;
  report.reference_waited_ns += more.reference_waited_ns;
  report.cost.add(more.cost);
  join_errors(report.errors, more.errors);
  report.log += more.log;
  const bool is_worse = task::severity(more.outcome) > task::severity(report.outcome);
  if (is_worse || nearest(more.borderline) > nearest(report.borderline))
    report.borderline = more.borderline;
  if (!is_worse) return;
  report.outcome = more.outcome;
  report.violation = more.violation;
  report.flashinfer = more.flashinfer;
  if (more.kernelbench) report.kernelbench = more.kernelbench;
  report.clear_samples();
}

void refuse_noise(WorkloadReport& report) {
  if (!report.has_passed()) return;
  if (!too_many_dropped(report.disturbed_samples, report.candidate_ns.size())) return;
  report.outcome = task::Outcome::kNoisy;
  report.add_hint(std::string(noise_message(
      report.disturbed_by_faults, report.disturbed_samples - report.disturbed_by_faults)));
  report.clear_samples();
}

}  // namespace kw::gym
