// JudgedCalls: the calls of one candidate and its baseline: fresh inputs and guards before a
// launch, snapshots and checks after it.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/later.h"
#include "base/result.h"
#include "gym/checker/fault.h"
#include "gym/checker/judged_outputs.h"
#include "gym/checker/judging_context.h"

namespace kw::gym {

// Totals over all launches of one side.
struct LaunchTotals {
  std::uint64_t page_faults = 0;
  std::chrono::nanoseconds waited{0}, wall{0};
};

// Judges calls; it borrows everything and is not thread-safe. An Error is ours, the baseline's or
// the reference's; the candidate's mistakes are faults of the judgement.
class JudgedCalls {
 public:
  JudgedCalls(JudgingContext& context, Side& candidate, FirstFault& fault);

  // Before a call: fresh inputs for both sides, poisoned outputs and canaries. An audited set gets
  // the inputs of an instance whose outputs are known, if there is one that this candidate has not
  // seen. hard: the number of a case, whose inputs it gets; not with audited.
  Status fill(std::uint32_t set, bool audited, std::optional<std::size_t> hard = {});
  // Calls each set once, with the limits and witnesses of a launch.
  Result<LaunchResult> launch(Side& side, std::span<const std::uint32_t> sets);
  Status take_snapshot(Side& side, std::span<const std::uint32_t> sets);
  // Checks the results of the calls on these sets: memory, outputs, draws, and the audit if one of
  // them is due.
  Status check(std::span<const std::uint32_t> sets, bool in_first_block);
  // The same in two steps. A GPU works on what the first one queues while other sets are filled,
  // whose inputs it writes when it has looked at the results.
  class BegunCheck;
  Result<BegunCheck> begin_check(std::span<const std::uint32_t> sets, bool in_first_block);
  Status end_check(std::span<const std::uint32_t> sets, BegunCheck begun);

  // One call of each side on the set, checked. The baseline is spared where the candidate failed.
  Status checked_call(std::uint32_t set, bool is_audited, std::optional<std::size_t> hard,
                      bool in_first_block);
  // The same on fresh inputs, whose outputs are left to the caller.
  Status unjudged_call(std::uint32_t set, std::optional<std::size_t> hard);

  // A call may take so long.
  std::chrono::nanoseconds timeout() const;
  JudgedOutputs& outputs() { return outputs_; }
  const JudgedOutputs& outputs() const { return outputs_; }
  const LaunchTotals& candidate_totals() const { return candidate_totals_; }
  const LaunchTotals& baseline_totals() const { return baseline_totals_; }
  double fill_ms() const { return fill_ms_; }  // of all fill() so far

 private:
  // Fills the set and calls both sides, until a fault is found.
  Status call_both(std::uint32_t set, bool is_audited, std::optional<std::size_t> hard);
  Status fill_and_guard(std::uint32_t set, bool audited, std::optional<std::size_t> hard);
  Result<OracleAnswer> fill_ordinary(std::uint32_t set, std::uint64_t seed, bool is_known);
  Result<OracleAnswer> fill_hard(std::uint32_t set, std::size_t number);
  Result<OracleAnswer> repeat_probabilities(TensorMemory& set);
  // A look at the memory of some calls will tell these: hashes of their inputs, and whether all
  // canaries are there.
  struct MemoryLater {
    std::vector<Later<std::uint64_t>> hashes;
    Later<bool> canaries;
  };
  Result<MemoryLater> look_at_memory(std::span<const std::uint32_t> sets);
  Status check_memory(std::span<const std::uint32_t> sets, MemoryLater memory);
  bool exceeds_clock(const LaunchResult& launch) const;
  bool ran_while_frozen(const LaunchResult& launch);

  JudgingContext& context_;
  Side& candidate_;
  FirstFault& fault_;
  JudgedOutputs outputs_;
  LaunchTotals candidate_totals_, baseline_totals_;
  double fill_ms_ = 0;
  bool is_watched_ = false;    // the candidate seemed to run once while it was frozen
  int watched_launches_ = 0;   // since then
  int restless_launches_ = 0;  // of these, before which it ran while it was frozen
  std::uint64_t hash_seed_;
  std::uint64_t first_seed_;  // seed of inputs; used only with fresh_inputs off
  std::vector<std::optional<Later<std::uint64_t>>> input_hashes_;  // the key is the set
  std::vector<std::optional<FilledCase>> filled_cases_;  // the same; nullopt: ordinary inputs
  // The session's next instance: each is shown once to a candidate.
  std::size_t next_audit_instance_ = 0;
  std::optional<std::uint32_t> audited_set_;  // which of the filled sets is to be audited
  // The instance whose inputs the set holds; null: fresh inputs.
  AuditInstance* audit_instance_ = nullptr;
  bool has_new_probabilities_ = false;  // the call before; the next repeats them
  std::uint64_t probabilities_seed_ = 0;
};

class JudgedCalls::BegunCheck {
  friend class JudgedCalls;
  explicit BegunCheck(MemoryLater found) : memory_(std::move(found)) {}
  MemoryLater memory_;
  std::optional<Later<ComparedReports>> compared_;  // nullopt: outputs are not compared
  bool in_first_block_ = false;
};

}  // namespace kw::gym
