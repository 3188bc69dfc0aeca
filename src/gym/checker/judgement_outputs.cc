// A candidate's outputs: compared with the baseline's, with float64, and draws with their
// probabilities.
#include <algorithm>
#include <functional>

#include "gym/checker/judgement.h"
#include "gym/correctness/mismatch.h"
#include "os/parallel.h"

namespace kw::gym {
namespace {

constexpr std::size_t kLargeSet = 4ULL << 20U;
constexpr PerturbedRuns kPerturbedRunsToConvict = {.count = 8, .move_functions = true};
constexpr double kFarBeyondBudget = 4096;
constexpr std::uint64_t kFewOf = 8;

// A budget may lack what a norm of a constant row makes of its mean's rounding: three hundred times
// as much, with the eps that is usual. Of whole numbers few may be decided otherwise.
bool is_close(const CheckReport& report, task::DType dtype) {
  return task::is_floating(dtype) ? report.max_of_budget < kFarBeyondBudget
                                  : report.wrong <= 1 + report.elements / kFewOf;
}

// work(i) for every set; a few large ones one after the other, since each is worked on by all
// cores.
void for_sets(std::span<const std::uint32_t> sets, std::size_t bytes_of_one,
              const std::function<void(std::size_t)>& work) {
  if (bytes_of_one < kLargeSet)
    return os::in_parallel(sets.size(), sets.size() * bytes_of_one, work);
  for (std::size_t i = 0; i < sets.size(); ++i) work(i);
}

}  // namespace

// expected: the right output in the declared dtype, to tell what kind of mistake it is.
void Judgement::record(std::size_t output, const CheckReport& report, std::uint32_t set,
                       std::span<const std::byte> expected) {
  task::OutputError& error = errors_[output];
  kw::gym::record(report, error);
  if (report.passed) return;
  error.max_of_budget = std::max(error.max_of_budget, 1.000001);
  const task::Argument& declared = session_.signature_.outputs[output];
  Mismatch mismatch = describe_mismatch(
      {declared.dtype, declared.shape, candidate_->output(set, output)},
      {declared.dtype, declared.shape, expected}, report, candidate_->unwritten(set, output));
  blame(
      {task::Outcome::kWrongValue, "", fmt::format("output {}: {}", error.output, mismatch.text)});
}

Status Judgement::compare(const Group& sets) {
  if (fault_) return {};
  std::size_t outputs = errors_.size();
  std::vector<CheckReport> reports(sets.size() * outputs);
  std::size_t bytes = 0;
  for (const task::Argument& output : session_.signature_.outputs) bytes += 2 * output.bytes();
  for_sets(sets, bytes, [&](std::size_t i) {
    auto theirs = session_.baseline_->outputs(sets[i]);
    for (std::size_t j = 0; j < outputs; ++j) {
      reports[i * outputs + j] = session_.checker_->against_baseline(
          j, candidate_->output(sets[i], j), theirs, session_.sets_[sets[i]]);
    }
  });
  for (std::size_t s = 0; s < sets.size(); ++s) {
    bool doubtful = false;
    for (std::size_t j = 0; j < outputs && !fault_; ++j) {
      const CheckReport& report = reports[s * outputs + j];
      auto theirs = session_.baseline_->output(sets[s], j);
      if (report.passed) record(j, report, sets[s], theirs);
      doubtful = doubtful || !report.passed;
      const task::Argument& declared = session_.signature_.outputs[j];
      if (blocks_ == 0) {
        benchmark_rules_.compare({declared.dtype, declared.shape, candidate_->output(sets[s], j)},
                                 {declared.dtype, declared.shape, theirs});
      }
    }
    // The baseline errs too: only float64 can convict.
    if (doubtful && !fault_) KW_TRY_STATUS(ask_oracle(sets[s]));
  }
  return {};
}

Status Judgement::audit(std::uint32_t set) {
  if (audit_instance_ == nullptr) return ask_oracle(set);
  ++audits_;
  return judge_by(*audit_instance_->comparison, audit_instance_->instance, set);
}

Status Judgement::ask_oracle(std::uint32_t set) {
  ++audits_;
  Instance instance;
  KW_TRY_STATUS(run_oracle(set, {}, instance));
  KW_TRY(OracleComparison comparison, session_.checker_->compare_with(instance));
  return judge_by(comparison, instance, set);
}

Status Judgement::run_oracle(std::uint32_t set, PerturbedRuns perturbed, Instance& instance) {
  KW_TRY(OracleAnswer answer, session_.run_oracle(session_.sets_[set], instance, perturbed));
  if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
  return {};
}

// One perturbed run may by luck move an element far less than rounding does: what is close to its
// budget is judged again by the budgets of several, which also see what elementary functions of a
// vector library's accuracy do.
Status Judgement::judge_by(const OracleComparison& comparison, const Instance& instance,
                           std::uint32_t set) {
  std::vector<CheckReport> reports = reports_by(comparison, set);
  bool fails = false, close = true;
  for (std::size_t j = 0; j < reports.size(); ++j) {
    if (reports[j].passed) continue;
    fails = true;
    close = close && is_close(reports[j], session_.signature_.outputs[j].dtype);
  }
  if (!fails || !close) {
    record_all(reports, instance, set);
    return {};
  }
  Instance again;
  KW_TRY_STATUS(run_oracle(set, kPerturbedRunsToConvict, again));
  KW_TRY(OracleComparison closer, session_.checker_->compare_with(again));
  record_all(reports_by(closer, set), again, set);
  return {};
}

std::vector<CheckReport> Judgement::reports_by(const OracleComparison& comparison,
                                               std::uint32_t set) const {
  std::vector<CheckReport> reports;
  for (std::size_t j = 0; j < errors_.size(); ++j)
    reports.push_back(comparison.check(j, candidate_->output(set, j)));
  return reports;
}

void Judgement::record_all(std::span<const CheckReport> reports, const Instance& instance,
                           std::uint32_t set) {
  for (std::size_t j = 0; j < reports.size() && !fault_; ++j)
    record(j, reports[j], set, instance.trusted[j]);
}

void Judgement::add_samples(const Group& sets) {
  for (std::size_t j = 0; j < errors_.size() && !fault_; ++j) {
    if (!session_.checker_->is_sampled(j)) continue;
    Rng rng(session_.next_seed());
    for (std::uint32_t set : sets) {
      session_.checker_->add_samples(j, candidate_->output(set, j), session_.sets_[set], rng,
                                     sampled_[j]);
    }
  }
}

// Draws say something only together.
void Judgement::judge_samples() {
  for (const auto& [output, test] : sampled_) {
    if (test.passed() || fault_) continue;
    errors_[output].max_of_budget = std::max(errors_[output].max_of_budget, 1.000001);
    blame(
        {task::Outcome::kWrongValue, "",
         fmt::format("output {}: {}", errors_[output].output,
                     test.impossible() > 0   ? "it drew indices of probability 0 or out of range"
                     : !test.is_drawn_anew() ? "its draws repeat where only the probabilities do"
                                             : "its draws do not follow the given probabilities")});
  }
}

}  // namespace kw::gym
