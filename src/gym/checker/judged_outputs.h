// JudgedOutputs: the outputs of one candidate, compared with the baseline's call by call, with
// float64 where that is asked or in doubt, and draws with their probabilities.
#pragma once
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/later.h"
#include "base/result.h"
#include "gym/checker/benchmark_rules.h"
#include "gym/checker/fault.h"
#include "gym/checker/judging_context.h"
#include "gym/correctness/sampling.h"
#include "task/verdict.h"

namespace kw::gym {

// The hard case whose inputs a set holds.
struct FilledCase {
  std::size_t number = 0;
  int version = 0;
};
using FilledCases = std::vector<std::optional<FilledCase>>;  // by set; nullopt: ordinary inputs

// An error that was near its budget by float64. It alone decides nothing
// (further_draws.h).
struct NearBudget {
  double largest = 0;               // in budgets
  std::optional<std::size_t> hard;  // the case whose inputs had the largest; nullopt: ordinary
  std::optional<Fault> mismatch;    // the first that was beyond the budget
};

// An error below those that are near. Budgets vary from draw to draw, by half where few elements
// make them: on other inputs it may be near, or beyond.
struct Doubt {
  static constexpr double kFrom = 0.5;  // budgets
  double largest = 0;                   // in budgets
  std::optional<std::size_t> hard;      // as NearBudget's
};

// Borrows all that it is made of. Every call needs the snapshots of both sides. Not thread-safe.
class JudgedOutputs {
 public:
  JudgedOutputs(JudgingContext& context, Side& candidate, FirstFault& fault);

  // Begins to compare one call a set with the baseline's.
  Result<Later<ComparedReports>> compare_later(std::span<const std::uint32_t> sets);
  // Judges the same calls by what that gives. in_first_block: the calls that the benchmarks' own
  // rules look at. hard: of all sets. Where the reference cannot be judged by on hard inputs,
  // nothing is decided.
  Status decide(std::span<const std::uint32_t> sets, Later<ComparedReports> compared,
                bool in_first_block, const FilledCases& hard);
  // Compares one call with float64: by a known instance that the set's inputs are, or (nullptr) by
  // running the reference on them. Beside a GPU that is timed, a thread may do the first while
  // further calls are made; end_audit() has its answer.
  Status audit(std::uint32_t set, const AuditInstance* known);
  // Waits for what audit() has left to a thread. To be called before the next audit's inputs are
  // drawn, while no set's inputs are needed, and at the end.
  Status end_audit();
  // Tells what errors were near their budgets since this was asked last.
  std::optional<NearBudget> take_near_budget() { return std::exchange(near_, std::nullopt); }
  // Tells the largest doubt since this was asked last.
  std::optional<Doubt> take_doubt() { return std::exchange(doubt_, std::nullopt); }
  // Compares one call with float64, by the budgets that convict: on ordinary inputs, or on those of
  // a hard case. Returns the largest error in budgets; 0 where nothing can be judged by the
  // reference on these hard inputs.
  Result<double> judge_closely(std::uint32_t set, std::optional<std::size_t> hard);
  // Collects the draws of sampled outputs; judge_samples() judges them together at the end.
  Status add_samples(std::span<const std::uint32_t> sets);
  void judge_samples();

  const std::vector<task::OutputError>& errors() const { return errors_; }
  const BenchmarkRules& benchmark_rules() const { return benchmark_rules_; }
  std::int64_t audits() const { return audits_; }
  // Calls on hard inputs, by case.
  const std::vector<std::int64_t>& hard_calls() const { return hard_calls_; }

 private:
  // The reports of one call, and the outputs that it was judged again by; null: not again.
  struct Judged {
    std::vector<CheckReport> reports;
    std::unique_ptr<KnownOutputs> again;
  };

  std::vector<ComparedCall> calls_of(std::span<const std::uint32_t> sets) const;
  Status compare_call(const ComparedCall& call, const std::vector<CheckReport>& reports,
                      bool in_first_block, const std::optional<FilledCase>& hard);
  // A candidate's output, or a part of it by itself.
  struct OutputBytes {
    OutputBytes() = default;
    OutputBytes(OutputBytes&&) = default;
    OutputBytes& operator=(OutputBytes&&) = default;
    std::span<const std::byte> bytes;
    std::vector<std::byte> own;
  };
  // A thread compares these beside the next calls. A failure is looked at again as any other: on
  // the same inputs, which their seed gives once more, and on the kept outputs.
  struct BegunAudit {
    std::uint32_t set = 0;
    const AuditInstance* known = nullptr;
    std::vector<std::vector<std::byte>> outputs;
    std::future<std::vector<CheckReport>>
        reports;  // joins the thread: declared behind what it reads
  };
  bool may_audit_beside() const;
  Status begin_audit(std::uint32_t set, const AuditInstance& known);
  Result<OutputBytes> output_of(std::uint32_t set, std::size_t j, const Selection* part) const;
  Selections doubtful_parts(std::span<const CheckReport> reports);
  Status ask_oracle(std::uint32_t set, Selections selected);
  Status judge_hard(std::uint32_t set, std::size_t number, Selections parts);
  Result<bool> may_judge_by(HardCase& hard, std::uint32_t set);
  Result<bool> is_upheld(std::span<const CheckReport> reports, const OracleComparison& comparison,
                         std::uint32_t set, HardCase& hard);
  bool is_near(std::size_t output, const CheckReport& report) const;
  bool is_doubtful(std::size_t output, const CheckReport& report) const;
  bool is_settled(std::span<const CheckReport> reports) const;
  Status judge_by(const OracleComparison& comparison, const Instance& instance, std::uint32_t set);
  // hard: whose inputs the set has; null: ordinary ones.
  Result<Judged> judged_by(const OracleComparison& comparison, std::uint32_t set,
                           const HardCase* hard);
  Result<bool> second_passes(const OracleComparison& comparison, std::uint32_t set);
  Status run_reference(std::uint32_t set, PerturbedRuns perturbed, Instance& instance);
  Result<std::vector<CheckReport>> reports_by(const OracleComparison& comparison,
                                              std::uint32_t set) const;
  // hard: the case whose inputs the set has.
  Status record_all(std::span<const CheckReport> reports, const Instance& instance,
                    std::uint32_t set, std::optional<std::size_t> hard = {});
  Status record(std::size_t output, const CheckReport& report, std::uint32_t set,
                const Instance& right, std::optional<std::size_t> hard);
  Result<Fault> mismatch_of(std::size_t output, const CheckReport& report, std::uint32_t set,
                            const Instance& right, std::optional<std::size_t> hard) const;
  void note_near(double of_budget, std::optional<std::size_t> hard, std::optional<Fault> mismatch);

  JudgingContext& context_;
  Side& candidate_;
  FirstFault& fault_;
  BenchmarkRules benchmark_rules_;
  std::vector<task::OutputError> errors_;
  std::map<std::size_t, SamplingTest> sampled_;  // by output
  std::optional<NearBudget> near_;
  std::optional<Doubt> doubt_;
  std::int64_t audits_ = 0;
  std::vector<std::int64_t> hard_calls_;
  const std::vector<std::vector<std::byte>>* kept_ =
      nullptr;  // judged instead of what is there now
  std::optional<BegunAudit> begun_;
};

}  // namespace kw::gym
