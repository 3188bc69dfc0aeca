// The course of a judgement, and what is reported of it.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "gym/checker/gpu_call.h"

namespace kw::gym {
namespace {

constexpr std::size_t kCheckedCalls = 3;  // where nothing is timed, hard ones among them
// Slow candidates (an interpreter's) get no more calls than that; quick ones all hard cases.
constexpr auto kCheckingTime = std::chrono::milliseconds(50);
constexpr std::size_t kMaxHardCalls = 32;
constexpr int kProfiledCalls = 4;  // as many as a profile may take the time of
// A wrong output of few elements is right in many a call.
constexpr std::int64_t kFewElements = 64;
constexpr std::size_t kCallsOfFewElements = 24;

LaunchReport report_of(const KernelLaunches& launches) {
  LaunchReport report{launches.kernel_count,
                      launches.library_calls,
                      launches.configurations,
                      launches.masked_lanes,
                      {}};
  for (const KernelReport& kernel : launches.kernels)
    report.kernels.push_back({hex(kernel.identity), kernel.launches, kernel.programs});
  return report;
}

}  // namespace

Judgement::Judgement(JudgingContext& context, std::unique_ptr<Side> candidate)
    : context_(context),
      candidate_(std::move(candidate)),
      gpu_busy_before_(gpu_busy()),
      calls_(context, *candidate_, fault_),
      blocks_(context, *candidate_, calls_, fault_),
      further_draws_(context, calls_, fault_) {}

Result<WorkloadReport> Judgement::run() {
  KW_TRY(auto fault, candidate_->start(start_times_));
  if (fault) fault_.blame(std::move(*fault));
  if (!fault_.found() && candidate_->has_slow_first_call()) KW_TRY_STATUS(first_call());
  if (!fault_.found()) KW_TRY_STATUS(context_.options.timing ? measure() : checked_calls());
  calls_.outputs().judge_samples();
  KW_TRY_STATUS(decide_near_budget());
  return report();
}

std::chrono::nanoseconds Judgement::gpu_busy() const {
  return context_.gpu_busy != nullptr ? context_.gpu_busy->total() : std::chrono::nanoseconds(0);
}

Status Judgement::first_call() {
  const auto start = context_.clock.now();
  KW_TRY_STATUS(calls_.checked_call(0, false, std::nullopt, false));
  start_times_.load_ms += to_ms(context_.clock.now() - start);
  return {};
}

// A judgement that measures has no turn: it leases the whole host, block by block.
Status Judgement::measure() {
  context_.turn.end();
  KW_TRY_STATUS(blocks_.run());
  refuse_impossible_times();
  if (!fault_.found() && candidate_->executor().runs_plan()) KW_TRY_STATUS(profile());
  return context_.turn.begin();
}

Status Judgement::decide_near_budget() {
  const auto start = context_.clock.now();
  KW_TRY_STATUS(further_draws_.decide());
  check_ms_ += to_ms(context_.clock.now() - start);
  return {};
}

// No kernel is faster than the memory that it writes to. The median: one wrong sample is noise.
void Judgement::refuse_impossible_times() {
  if (!context_.roofline) return;
  std::vector<double> times = blocks_.measured().samples.candidate_ns();
  if (times.empty()) return;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  const auto least = least_time_of_outputs(context_.signature, *context_.roofline);
  if (*middle >= static_cast<double>(least.count())) return;
  fault_.blame({task::Outcome::kViolation, "impossible_time",
                "its calls are said to be shorter than writing the outputs can be"});
}

Status Judgement::profile() {
  KW_TRY(LeaseScope lease, LeaseScope::take(context_.lease));
  PlanCall call;
  KW_TRY(auto fault, candidate_->profile(0, kProfiledCalls * calls_.timeout(), call));
  if (fault)
    fault_.blame(std::move(*fault));
  else
    plan_call_ = std::move(call);
  return {};
}

// nullopt: the candidate does not run on a GPU.
std::optional<task::GpuFacts> Judgement::gpu_facts() const {
  if (!candidate_->executor().has_device_clock()) return std::nullopt;
  task::GpuFacts facts;
  if (plan_call_) facts.call = gpu_call_of(*plan_call_);
  facts.candidate_bytes = candidate_->executor().call_bytes();
  facts.baseline_bytes = context_.baseline.executor().call_bytes();
  facts.roofline = context_.roofline;
  return facts;
}

// One of the first kCheckedCalls is ordinary where the problem has the workload timed and there are
// hard cases. Elsewhere all are: a candidate that is not timed gains nothing by telling hard calls
// by their number.
std::vector<HardSchedule::Call> Judgement::planned_calls() {
  std::vector<HardSchedule::Call> calls;
  for (std::size_t number : context_.hard.choose(kMaxHardCalls)) calls.emplace_back(number);
  Rng secret(context_.seeds.next());
  // The first two cases, which are mixes of all kinds, are among the first calls.
  constexpr std::size_t kFirst = 2;
  for (std::size_t i = calls.size(); i > kFirst + 1; --i)
    std::swap(calls[i - 1], calls[kFirst + secret.below(i - kFirst)]);
  calls.insert(calls.begin(), context_.options.timed ? 1 : kCheckedCalls, std::nullopt);
  std::int64_t elements = 0;
  for (const task::Argument& output : context_.signature.outputs) elements += output.elements();
  const std::size_t least = elements < kFewElements ? kCallsOfFewElements : kCheckedCalls;
  while (calls.size() < least) calls.emplace_back(std::nullopt);
  for (std::size_t i = kCheckedCalls; i > 1; --i) std::swap(calls[i - 1], calls[secret.below(i)]);
  return calls;
}

// All calls are compared with the baseline, a secret one with float64.
Status Judgement::checked_calls() {
  const auto start = context_.clock.now();
  const std::vector<HardSchedule::Call> calls = planned_calls();
  Rng secret(context_.seeds.next());
  std::vector<std::size_t> ordinary;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (!calls[i]) ordinary.push_back(i);
  const std::size_t audited = ordinary[secret.below(ordinary.size())];
  bool is_over = false;
  for (std::size_t i = 0; i < calls.size() && !fault_.found(); ++i) {
    is_over = is_over || (i >= kCheckedCalls && context_.clock.now() - start > kCheckingTime);
    if (is_over && i != audited) continue;
    KW_TRY_STATUS(calls_.checked_call(static_cast<std::uint32_t>(i % context_.sets.size()),
                                      i == audited, calls[i], checked_calls_ == 0));
    ++checked_calls_;
  }
  check_ms_ += to_ms(context_.clock.now() - start);
  return {};
}

WorkloadReport Judgement::report() const {
  const Measured& measured = blocks_.measured();
  const LaunchTotals& candidate = calls_.candidate_totals();
  const LaunchTotals& baseline = calls_.baseline_totals();
  WorkloadReport report;
  if (const std::optional<Fault>& fault = fault_.get()) {
    report.outcome = fault->outcome;
    report.violation = fault->violation;
    const bool mismatch = fault->outcome == task::Outcome::kWrongValue;
    report.diagnostics.push_back({mismatch ? "mismatch" : "hint", fault->message});
  }
  report.errors = calls_.outputs().errors();
  report.borderline = further_draws_.borderline();
  if (report.borderline)
    report.diagnostics.push_back({"borderline", borderline_text(*report.borderline)});
  report.candidate_ns = measured.samples.candidate_ns();
  report.reference_ns = measured.samples.reference_ns();
  report.clock = measured.samples.clock();
  report.timed = context_.options.timing;
  report.pair_samples = {static_cast<std::int64_t>(report.candidate_ns.size())};
  if (fault_.found()) report.clear_samples();
  report.null_launch_ns = candidate_->null_launch().count();
  report.blocks = measured.blocks + checked_calls_;
  report.disturbed_samples = measured.samples.filter().dropped();
  report.disturbed_by_faults = measured.samples.filter().dropped_by(DisturbanceKind::kFaults);
  report.hard_inputs = context_.hard.report(calls_.outputs().hard_calls());
  report.audits = calls_.outputs().audits();
  report.oracle = context_.reference.exact_precision() == Precision::kSecond
                      ? OracleKind::kSecondImplementation
                      : OracleKind::kFloat64;
  report.call_ms = to_ms(candidate.wall);
  report.candidate_page_faults = candidate.page_faults;
  report.reference_page_faults = baseline.page_faults;
  report.candidate_waited_ns = candidate.waited.count();
  report.reference_waited_ns = baseline.waited.count();
  report.cost = {.load_ms = start_times_.load_ms,
                 .prepare_ms = start_times_.prepare_ms,
                 .calibrate_ms = measured.calibrate_ms,
                 .fill_ms = calls_.fill_ms(),
                 .check_ms = measured.check_ms + check_ms_,
                 .time_ms = measured.time_ms,
                 .lease_ms = measured.lease_ms,
                 .gpu_busy_ms = to_ms(gpu_busy() - gpu_busy_before_)};
  report.gpu = gpu_facts();
  calls_.outputs().benchmark_rules().add_to(report, fault_.get());
  if (auto launches = candidate_->executor().kernel_launches())
    report.launches = report_of(*launches);
  return report;
}

}  // namespace kw::gym
