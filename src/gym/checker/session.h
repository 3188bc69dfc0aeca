// Session: one open workload in the checker: oracle, learned budgets, statics, input sets,
// baseline. Judges candidates one after the other. Single-threaded.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/audit_instances.h"
#include "gym/checker/backend.h"
#include "gym/checker/hard_cases.h"
#include "gym/checker/input_source.h"
#include "gym/checker/judging_context.h"
#include "gym/checker/kernelbench_trials.h"
#include "gym/checker/learning.h"
#include "gym/checker/oracle.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/paired_memory.h"
#include "gym/checker/reference_runs.h"
#include "gym/checker/session_options.h"
#include "gym/checker/session_seeds.h"
#include "gym/checker/side.h"
#include "gym/checker/tensor_memory.h"
#include "gym/checker/timing_lease.h"
#include "gym/checker/turn.h"
#include "gym/messages/checker_messages.h"
#include "gym/named_fds.h"
#include "task/gpu_facts.h"
#include "task/signature.h"

namespace kw::gym {

class Session {
 public:
  // A reference that cannot be judged by is in `opened.findings.failure`. backend: borrowed.
  static Result<std::unique_ptr<Session>> open(const OpenRequest& request, ReceivedFds fds,
                                               Opened& opened, Backend& backend = host_backend());
  // Each needs a turn.
  Turn& turn() { return *turn_; }
  Result<BaselineStarted> start_baseline(const BaselineRequest& request, ReceivedFds& fds);
  // Modules: whether a candidate passes KernelBench's own trials.
  Result<KernelBenchTried> kernelbench(const KernelBenchRequest& request, ReceivedFds& fds);
  // The whole judgement of one candidate. lease: of the resource that is timed.
  Result<WorkloadReport> judge(const JudgeRequest& request, ReceivedFds& fds, TimingLease& lease);
  // Times a few calls of a candidate on a GPU, and checks one.
  Result<Tried> try_out(const TrialRequest& request, ReceivedFds& fds, TimingLease& lease);
  // After a judgement on a GPU the executors wait for the next one awake. rest() lets their cores
  // be until then: for whoever sees that none comes.
  bool is_awake() const { return is_awake_; }
  void rest();

 private:
  explicit Session(Backend& backend) : backend_(backend) {}
  Status read_options(const CheckerOptions& options);
  Result<OracleAnswer> prepare_problem(const OpenRequest& request, ReceivedFds& fds);
  Result<OracleAnswer> describe_problem(const OpenRequest& request);
  Result<OracleAnswer> make_statics();
  Status make_sets();
  Status make_checker(const std::map<std::string, task::OutputPolicy>& outputs);
  LearningInput learning() { return {*inputs_, *reference_, *checker_, *sets_[0], seeds_}; }
  Status find_hard_cases();
  Status find_roofline();
  Status admit(const LearnedInstances& learned, AdmissionFindings& findings);
  ExecutorMemory memory_of(OutputMemory& output) const;
  Result<std::unique_ptr<Side>> attach(ExecutorSpec spec, ReceivedFds& fds,
                                       const std::string& prefix, ExecutorMemory memory);
  Result<std::unique_ptr<Side>> attach_to_sets(ExecutorSpec spec, ReceivedFds& fds,
                                               const std::string& prefix, OutputMemory& output);
  Result<std::optional<Fault>> warm_up(int calls);
  Result<std::unique_ptr<Side>> candidate_of(const CandidateStart& request, ReceivedFds& fds);
  JudgingContext context_of(const MeasuringGoal& goal, TimingLease& lease);
  // After a candidate on a GPU: another one may run in its executor, if this one left it usable.
  void keep_resident(std::unique_ptr<Side> side, task::Outcome outcome);

  Backend& backend_;
  SessionSeeds seeds_;
  SessionOptions options_;
  bool module_ = false;
  std::unique_ptr<Turn> turn_;
  std::unique_ptr<Oracle> oracle_;
  bool unfit_ = false;  // the reference runs, but nothing can be judged by it
  task::Signature signature_;
  std::string init_args_ = "[]";
  std::vector<std::string> views_;  // ModuleDescription::views
  std::uint64_t param_seed_ = 0;
  std::unique_ptr<InputSource> inputs_;
  std::unique_ptr<TensorMemory> statics_;  // null: none
  std::vector<std::unique_ptr<TensorMemory>> sets_;
  std::unique_ptr<OutputChecker> checker_;
  std::unique_ptr<ReferenceRuns> reference_;
  AuditInstances audits_;
  HardCases hard_;
  std::optional<task::GpuRoofline> roofline_;
  std::optional<NullLaunch> null_launch_of_plans_;
  std::unique_ptr<PairedMemory> memory_;
  std::unique_ptr<KernelBenchTrials> kernelbench_trials_;  // made when first needed
  std::unique_ptr<Side> baseline_;
  bool is_awake_ = false;                       // baseline and resident executor are not frozen
  std::unique_ptr<Side> resident_;              // the last candidate's, where another may run in it
  std::chrono::nanoseconds reference_time_{0};  // one call of the baseline, by its warm-up
};

}  // namespace kw::gym
