// From evidence to verdict.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "gym/evidence.h"
#include "gym/measure/sequential_interval.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxDiagnostic = 4096;
constexpr std::size_t kMaxRivals = 16;
constexpr double kMinSample = 1e-3, kMaxSample = 1e18;  // ns: ratios and sums stay finite
// Eight process pairs: the interval takes memory quadratic in their number.
constexpr std::size_t kMaxSamples = 8 * SequentialInterval::kMaxSamples;
constexpr double kMaxCost = 1e15;  // ms

Result<std::vector<double>> milliseconds(const std::vector<double>& samples,
                                         const std::string& where) {
  if (samples.size() > kMaxSamples)
    return fail(ErrorCode::kInvalidArgument, "{}: {} samples, more than {}", where, samples.size(),
                kMaxSamples);
  std::vector<double> out;
  for (double sample : samples) {
    if (!(sample >= kMinSample && sample <= kMaxSample)) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected nanoseconds, each from {} to {}",
                  where, kMinSample, kMaxSample);
    }
    out.push_back(sample / 1e6);
  }
  return out;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Result<std::vector<std::size_t>> pair_samples(const std::vector<std::int64_t>& counts,
                                              std::size_t samples, const std::string& where) {
  if (counts.empty()) return std::vector<std::size_t>{samples};
  std::vector<std::size_t> out;
  std::size_t sum = 0;
  for (std::int64_t count : counts) {
    if (count < 0 || static_cast<std::size_t>(count) > samples - sum ||
        out.size() == kMaxProcessPairs)
      break;
    out.push_back(static_cast<std::size_t>(count));
    sum += out.back();
  }
  if (out.size() != counts.size() || sum != samples)
    return fail(ErrorCode::kInvalidArgument,
                "{}.pair_samples: expected at most {} counts that make {}, the number of samples",
                where, kMaxProcessPairs, samples);
  return out;
}

// MeasuredBeside: these samples of two programs were measured beside each other, and are in
// milliseconds. A bundle has them in nanoseconds: one program's under `key`, the other's under
// reference_ns. They are empty where they do not pair.
struct MeasuredBeside {
  std::vector<double> times, reference_times;
  std::optional<task::Speedup> interval;  // nullopt: they are too few for one
};
Result<MeasuredBeside> measured_beside(const std::vector<double>& times,
                                       const std::vector<double>& reference_times,
                                       const std::vector<std::int64_t>& counts,
                                       const std::string& where, std::string_view key) {
  MeasuredBeside out;
  KW_TRY(auto own, milliseconds(times, fmt::format("{}.{}", where, key)));
  KW_TRY(auto reference, milliseconds(reference_times, where + ".reference_ns"));
  if (own.empty() || own.size() != reference.size()) return out;
  KW_TRY(auto pairs, pair_samples(counts, own.size(), where));
  const task::Speedup interval = interval_of_samples(own, reference, pairs);
  if (std::isfinite(interval.low) && std::isfinite(interval.high)) out.interval = interval;
  out.times = std::move(own);
  out.reference_times = std::move(reference);
  return out;
}

// Times and interval come from the raw samples, never from a stored interval.
Status read_times(const WorkloadReport& report, const std::string& where,
                  task::WorkloadVerdict& verdict) {
  KW_TRY(MeasuredBeside measured, measured_beside(report.candidate_ns, report.reference_ns,
                                                  report.pair_samples, where, "candidate_ns"));
  if (report.candidate_ns.empty() && report.timed && verdict.outcome == task::Outcome::kPassed) {
    verdict.diagnostics.push_back(
        {"measurement",
         fmt::format("no time: {} blocks are too few: raise --max-seconds", report.blocks)});
  }
  if (measured.times.empty()) return {};
  verdict.clock = report.clock;
  verdict.speedup = measured.interval;
  if (!measured.interval) {
    verdict.diagnostics.push_back(
        {"measurement", fmt::format("{} blocks are too few for an interval: raise --max-seconds",
                                    measured.times.size())});
  }
  verdict.times = task::Times{median_of(measured.times), median_of(measured.reference_times),
                              std::move(measured.times), std::move(measured.reference_times)};
  return {};
}

// The candidate's speedup over the fastest of the baseline and its rivals, where there are some.
Status compare_with_rivals(const WorkloadReport& report, const std::string& baseline,
                           const std::string& where, task::WorkloadVerdict& verdict) {
  if (report.rivals.size() > kMaxRivals)
    return fail(ErrorCode::kInvalidArgument, "{}.rivals: more than {}", where, kMaxRivals);
  task::Speedup fastest{1, 1, 1};
  std::string name = baseline;
  for (const RivalReport& rival : report.rivals) {
    task::Rival told{.baseline = printable(rival.baseline, 80),
                     .failure = printable(rival.failure, kMaxDiagnostic)};
    if (rival.failure.empty()) {
      KW_TRY(const MeasuredBeside measured,
             measured_beside(rival.rival_ns, rival.reference_ns, rival.pair_samples,
                             where + ".rivals", "rival_ns"));
      told.over_baseline = measured.interval;
      if (!told.over_baseline) told.failure = "too few samples";
    }
    if (told.over_baseline && told.over_baseline->median > fastest.median) {
      fastest = *told.over_baseline;
      name = told.baseline;
    }
    verdict.rivals.push_back(std::move(told));
  }
  if (!verdict.rivals.empty() && verdict.speedup)
    verdict.strongest = task::Strongest{name, quotient(*verdict.speedup, fastest)};
  return {};
}

Status check_calls(std::int64_t calls, const std::string& where) {
  if (calls >= 0 && calls <= task::OutputError::kMaxCalls) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: {} is no number of calls", where, calls);
}

Status check_errors(const WorkloadReport& report, const std::string& where) {
  for (const task::OutputError& error : report.errors)
    KW_TRY_STATUS(check_calls(error.checked_calls, where + ".errors.checked_calls"));
  for (const task::HardInputs& hard : report.hard_inputs)
    KW_TRY_STATUS(check_calls(hard.calls, where + ".hard_inputs.calls"));
  return {};
}

// A recorded comparison beyond its budget can never be a pass, whatever else the bundle says: but
// for one near the budget, which two further draws have not confirmed.
bool is_within_budget(const WorkloadReport& report) {
  const double most = report.borderline ? task::Borderline::kTo : 1;
  return (!report.borderline || report.borderline->passes()) &&
         std::ranges::all_of(report.errors, [&](const task::OutputError& error) {
           return error.max_of_budget <= most;
         });
}

Result<task::WorkloadVerdict> workload_verdict(const WorkloadReport& report,
                                               const std::string& baseline,
                                               const std::string& where) {
  if ((report.outcome == task::Outcome::kViolation) == report.violation.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}.violation: a class with outcome violation only",
                where);
  }
  KW_TRY_STATUS(check_errors(report, where));
  task::WorkloadVerdict verdict;
  verdict.uuid = report.uuid;
  verdict.outcome = report.outcome;
  verdict.violation = report.violation;
  verdict.errors = report.errors;
  verdict.borderline = report.borderline;
  if (verdict.outcome == task::Outcome::kPassed && !is_within_budget(report))
    verdict.outcome = task::Outcome::kWrongValue;
  if (report.kernelbench) verdict.kernelbench = *report.kernelbench;
  verdict.flashinfer = report.flashinfer;
  verdict.hard_inputs = report.hard_inputs;
  verdict.gpu = report.gpu;
  for (const task::Diagnostic& diagnostic : report.diagnostics)
    verdict.diagnostics.push_back({diagnostic.kind, printable(diagnostic.message, kMaxDiagnostic)});
  KW_TRY_STATUS(read_times(report, where, verdict));
  KW_TRY_STATUS(compare_with_rivals(report, baseline, where, verdict));
  if (verdict.times) verdict.kernelbench.runtime_ms = verdict.times->candidate_ms;
  if (verdict.outcome != task::Outcome::kPassed && !trim(report.log).empty())
    verdict.diagnostics.push_back({"log", printable(report.log, kMaxDiagnostic)});
  return verdict;
}

// The diagnostic is given once, however many workloads are concerned.
void add_oracle(const Evidence& evidence, task::Verdict& verdict) {
  bool second = std::ranges::any_of(evidence.workloads, [](const WorkloadReport& report) {
    return report.oracle == OracleKind::kSecondImplementation;
  });
  if (!second) return;
  verdict.diagnostics.push_back(
      {"oracle",
       "the reference does not run in float64: outputs were compared with two implementations of "
       "it at the declared precision"});
}

Status add_cost(double part, const std::string& where, std::string_view key, double& sum) {
  if (!(part >= 0 && part <= kMaxCost))
    return fail(ErrorCode::kInvalidArgument, "{}.cost.{}: {} is not from 0 to {}", where, key, part,
                kMaxCost);
  sum += part;
  return {};
}

Status add_costs(const Evidence& evidence, task::Cost& cost) {
  const std::string where = "evidence";
  KW_TRY_STATUS(
      add_cost(evidence.cost.compile_ms.value_or(0), where, "compile_ms", cost.compile_ms));
  KW_TRY_STATUS(add_cost(evidence.cost.total_ms, where, "total_ms", cost.total_ms));
  for (const WorkloadReport& report : evidence.workloads) {
    const std::string at = where + ".workloads";
    KW_TRY_STATUS(add_cost(report.cost.load_ms, at, "load_ms", cost.load_ms));
    KW_TRY_STATUS(add_cost(report.cost.prepare_ms, at, "prepare_ms", cost.prepare_ms));
    KW_TRY_STATUS(add_cost(report.cost.check_ms, at, "check_ms", cost.check_ms));
    KW_TRY_STATUS(add_cost(report.cost.time_ms, at, "time_ms", cost.time_ms));
  }
  return {};
}

std::optional<task::Coverage> coverage_of_workloads(
    const std::vector<task::WorkloadVerdict>& workloads) {
  std::vector<const task::GpuCall*> calls;
  for (const task::WorkloadVerdict& workload : workloads)
    if (workload.gpu && workload.gpu->call) calls.push_back(&*workload.gpu->call);
  return task::coverage_of(calls);
}

// Only where all timed workloads have one.
std::optional<task::Strongest> strongest_of(const std::vector<task::WorkloadVerdict>& workloads) {
  std::vector<task::Speedup> speedups;
  std::string name;
  for (const task::WorkloadVerdict& workload : workloads) {
    if (!workload.speedup) continue;
    if (!workload.strongest) return std::nullopt;
    const std::string& baseline = workload.strongest->baseline;
    name = name.empty() || name == baseline ? baseline : "several";
    speedups.push_back(workload.strongest->speedup);
  }
  if (speedups.empty()) return std::nullopt;
  return task::Strongest{name, geometric_mean(speedups)};
}

void join_workloads(task::Verdict& verdict) {
  verdict.kernelbench = {true, true, -1};
  verdict.flashinfer.status = "PASSED";
  std::vector<task::Speedup> speedups;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    if (task::severity(workload.outcome) > task::severity(verdict.outcome)) {
      verdict.outcome = workload.outcome;
      verdict.violation = workload.violation;
    }
    verdict.kernelbench.compiled = verdict.kernelbench.compiled && workload.kernelbench.compiled;
    verdict.kernelbench.correctness =
        verdict.kernelbench.correctness && workload.kernelbench.correctness;
    if (workload.flashinfer.status != "PASSED")
      verdict.flashinfer.status = workload.flashinfer.status;
    verdict.flashinfer.max_absolute_error =
        std::max(verdict.flashinfer.max_absolute_error, workload.flashinfer.max_absolute_error);
    verdict.flashinfer.max_relative_error =
        std::max(verdict.flashinfer.max_relative_error, workload.flashinfer.max_relative_error);
    if (workload.times && !verdict.times) verdict.times = workload.times;
    verdict.clock = std::max(verdict.clock, workload.clock);  // nullopt is the least
    if (workload.speedup) speedups.push_back(*workload.speedup);
  }
  if (verdict.times) verdict.kernelbench.runtime_ms = verdict.times->candidate_ms;
  if (verdict.outcome == task::Outcome::kPassed && !speedups.empty())
    verdict.speedup = geometric_mean(speedups);
  verdict.coverage = coverage_of_workloads(verdict.workloads);
  if (verdict.speedup) verdict.strongest = strongest_of(verdict.workloads);
}

// A verdict that does not come from workloads.
Status add_refusals(const Evidence& evidence, task::Verdict& verdict) {
  if (!evidence.quarantined.empty()) {
    verdict.outcome = task::Outcome::kQuarantined;
    verdict.violation.clear();
    verdict.diagnostics.push_back({"hint", "the problem gives no reward: " +
                                               printable(evidence.quarantined, kMaxDiagnostic)});
  } else if (!evidence.unsupported.empty()) {
    verdict.outcome = task::Outcome::kUnsupported;
    verdict.violation.clear();
    verdict.diagnostics.push_back(
        {"hint", "not supported here: " + printable(evidence.unsupported, 200)});
  } else if (verdict.workloads.empty()) {
    return fail(ErrorCode::kInvalidArgument, "evidence.workloads: empty");
  }
  if (!evidence.compile_error.empty()) {
    verdict.kernelbench = {};
    verdict.flashinfer = {"COMPILE_ERROR", 0, 0};
    verdict.diagnostics.push_back({"compiler", printable(evidence.compile_error, kMaxDiagnostic)});
  }
  return {};
}

}  // namespace

Result<task::Verdict> verdict_of(const Evidence& evidence) {
  task::Verdict verdict;
  verdict.target = evidence.target;
  verdict.problem_name = evidence.problem.name;
  verdict.problem_hash = evidence.problem.hash;
  verdict.candidate_name = evidence.candidate.name;
  verdict.candidate_hash = evidence.candidate.hash;
  verdict.language = evidence.candidate.language;
  verdict.baseline = name_of(evidence.options.baseline);
  verdict.made_with = evidence.made_with;
  verdict.made_with.gym_version = evidence.gym_version;
  for (std::size_t i = 0; i < evidence.workloads.size(); ++i) {
    KW_TRY(auto workload, workload_verdict(evidence.workloads[i], verdict.baseline,
                                           fmt::format("evidence.workloads[{}]", i)));
    verdict.workloads.push_back(std::move(workload));
  }
  if (!verdict.workloads.empty()) join_workloads(verdict);
  KW_TRY_STATUS(add_refusals(evidence, verdict));
  bool timed = std::ranges::any_of(verdict.workloads, [](const task::WorkloadVerdict& workload) {
    return workload.times.has_value();
  });
  verdict.evidence_level = timed ? task::EvidenceLevel::kTimed
                                 : evidence.evidence_level.value_or(task::EvidenceLevel::kUntimed);
  add_oracle(evidence, verdict);
  KW_TRY_STATUS(add_costs(evidence, verdict.cost));
  return verdict;
}

Result<task::Verdict> verdict_from_evidence(const Json& evidence) {
  KW_TRY(Evidence read, evidence_from_json(evidence));
  return verdict_of(read);
}

}  // namespace kw::gym
