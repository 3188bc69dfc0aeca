// Judgement: one candidate in an open session: blocks of gos, every one compared, some audited,
// until the interval is narrow enough.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/benchmark_rules.h"
#include "gym/checker/lease_client.h"
#include "gym/checker/session.h"
#include "gym/checker/side.h"
#include "gym/correctness/sampling.h"
#include "gym/measure/disturbance.h"
#include "gym/measure/sequential_interval.h"

namespace kw::gym {

class Judgement {
 public:
  // process_pairs: how many measurements, this one among them, make the interval.
  Judgement(Session& session, std::unique_ptr<Side> candidate, int process_pairs, int control);
  // The report of one workload (docs/formats/evidence.md). An Error is ours.
  Result<Json> run();

 private:
  // Set numbers, one call each. A half of a block is a group.
  using Group = std::vector<std::uint32_t>;
  // Pairs of gos of one call each, on the same inputs, one right after the other.
  struct Sample {
    double candidate_ns = 0, reference_ns = 0;  // of one call, mean over the pairs
    Disturbance candidate, reference;
  };

  Status checked_calls();  // correctness without a clock
  Status measure();        // with one
  Status timed_blocks();
  Status calibrate();
  std::array<Group, 2> next_groups();
  Result<std::array<Sample, 2>> block(const std::array<Group, 2>& groups,
                                      std::optional<std::uint32_t> audited);
  Status half_block(const std::array<Side*, 2>& order, const Group& sets,
                    std::optional<std::uint32_t> audited, Sample& sample);
  Status pair_of_gos(const std::array<Side*, 2>& order, const Group& set, Sample& sample);
  std::chrono::nanoseconds time_of(const Side& side, const GoResult& done) const;
  void add_go(Side& side, const GoResult& done, Sample& sample) const;
  bool separate(Sample& sample);
  Status fill(std::uint32_t set, bool audited);
  Result<OracleAnswer> repeat_probabilities(SharedTensors& set);
  void snapshot(Side& side, const Group& sets);
  Status check(const Group& sets);
  Status check_late(const Group& sets);
  Status compare(const Group& sets);     // candidate with baseline, call by call
  Status audit(std::uint32_t set);       // candidate with float64: a known instance, or the oracle
  Status ask_oracle(std::uint32_t set);  // candidate with float64 on whatever the inputs are
  Status judge_by(const OracleComparison& comparison, const Instance& instance, std::uint32_t set);
  Status run_oracle(std::uint32_t set, PerturbedRuns perturbed, Instance& instance);
  std::vector<CheckReport> reports_by(const OracleComparison& comparison, std::uint32_t set) const;
  void record_all(std::span<const CheckReport> reports, const Instance& instance,
                  std::uint32_t set);
  void add_samples(const Group& sets);
  void check_memory(const Group& sets);
  Result<GoResult> go(Side& side, const Group& sets);
  bool judge_clock(const GoResult& go);
  void blame(Fault fault);
  void record(std::size_t output, const CheckReport& report, std::uint32_t set,
              std::span<const std::byte> expected);
  Result<LeaseScope> take_lease();
  void judge_samples();
  std::chrono::nanoseconds timeout() const;
  Json report() const;

  Session& session_;
  std::unique_ptr<Side> candidate_;
  int process_pairs_;
  int control_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<Fault> fault_;
  StartTimes start_times_;
  BenchmarkRules benchmark_rules_;
  std::vector<task::OutputError> errors_;
  std::vector<double> candidate_ns_, reference_ns_;
  std::vector<std::uint64_t> input_hashes_;  // by set
  std::uint64_t hash_seed_ = 0;
  std::int64_t blocks_ = 0, audits_ = 0;
  std::uint32_t first_set_ = 0;               // of the next block
  std::size_t next_audit_instance_ = 0;       // of the session: each is shown once
  std::optional<std::uint32_t> audited_set_;  // of the present block
  AuditInstance* audit_instance_ = nullptr;   // whose inputs it holds; null: fresh ones
  std::vector<double> reference_phase_ns_;    // only with interleaving switched off
  SampleFilter filter_;
  std::map<std::size_t, SamplingTest> sampled_;  // by output
  bool has_new_probabilities_ = false;           // the call before; the next repeats them
  std::uint64_t probabilities_seed_ = 0;
  std::uint64_t first_seed_ = 0;  // of inputs; only with fresh_inputs off
  std::uint64_t candidate_faults_ = 0, reference_faults_ = 0;           // minor, over all gos
  std::chrono::nanoseconds candidate_waited_{0}, reference_waited_{0};  // likewise
  std::chrono::nanoseconds lease_wait_{0};                              // while others measured
  double check_ms_ = 0, time_ms_ = 0;
  double call_ms_ = 0;  // all gos of the candidate
};

}  // namespace kw::gym
