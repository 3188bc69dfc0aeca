// ProblemSession: one workload of one problem opened for judging: its checker process, oracle and
// baseline executor. Candidates are judged in it one after the other; they share the oracle's
// budgets and the baseline's process, never a time. Plans for a GPU may share an executor as well,
// which is ours: it stays for the next one unless a candidate left it unusable.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compile/triton_build.h"
#include "gym/evaluation/bench.h"
#include "gym/gym.h"
#include "gym/supervisor/checker_process.h"
#include "gym/supervisor/core_plan.h"
#include "gym/supervisor/host_lease.h"
#include "gym/supervisor/roles.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

// How a Triton candidate's kernels are interpreted.
struct TritonRun {
  TritonBuild build;                // what was compiled, and may run
  std::uint64_t configuration = 0;  // of an autotuner; all but 0 also run where not compiled
  bool hide_values = false;         // host code gets made-up ones: only kernels can compute outputs
  bool drop_stores = false;         // kernels write nothing: to see who computes the outputs
  bool poison_masked = false;       // to see whether kernels rely on zeros in masked lanes
};

// A program for an executor: what to run and how.
struct Executable {
  bool python = false;
  bool is_reference = false;  // of the problem: it may write to inputs, of which it gets copies
  std::vector<task::SourceFile> files;  // python
  std::string entry_file, entry;        // python
  std::optional<bool> destination_passing;
  os::UniqueFd shared_object;  // cpp
  bool has_prepare = false;
  Compilation compilation = Compilation::kNone;  // of a reference
  std::optional<TritonRun> triton;
  os::UniqueFd plan;  // a GPU's: a file of gym/cuda/plan_file.h
};

inline constexpr int kTritonArch = 90;  // compute capability 9.0: what Triton compiles for

class ProblemSession {
 public:
  struct Context {
    const Programs* programs;
    Roles* roles;
    HostLease* lease;
    // Starts the checker's process; tests serve one themselves.
    std::function<Result<std::unique_ptr<CheckerProcess>>(const CheckerProcess::Options&)>
        start_checker = CheckerProcess::start;
    // The GPU that executors run on; nullopt: the processor.
    std::optional<int> device = std::nullopt;
    // The lease's resource (gym/measure/timing_lock.h).
    std::string timed_on = std::string(TimingLock::kCpu);
    TimedPlace timed_place{};
  };
  struct Opening {
    bool admit = false;                 // run the battery as well
    bool judge = true;                  // false: nothing is asked of the session but its findings
    double oracle_timeout_seconds = 0;  // of one run of the reference; 0: 60 s
    std::uint64_t oracle_memory_bytes = 0;  // 0: by the candidate's
  };
  // A reference that fails is in findings().failure.
  static Result<std::unique_ptr<ProblemSession>> open(
      const Context& context, const task::Problem& problem, const task::Workload& workload,
      const EvalOptions& options, const Opening& opening, const std::stop_token& stop);

  const task::Signature& signature() const { return signature_; }
  bool is_module() const { return module_; }
  const AdmissionFindings& findings() const { return findings_; }
  // Begins to start the baseline's executor, in place of the one before; needed before judge(),
  // which waits for it.
  Status start_baseline(const Executable& baseline, PairMemory memory);
  bool has_baseline() const { return baseline_.has_value(); }
  bool has_unused_baseline() const { return baseline_ && !baseline_used_; }

  // The message that tells an executor how to call a Python candidate's host code: for a compiler
  // role that calls it too.
  Json call_setup(const Executable& executable) const;

  // About what this process and its children hold while no candidate is judged.
  std::uint64_t resident_bytes() const;

  // How many pairs of processes measure a candidate by these options. Known when the first judge()
  // has returned.
  int process_pairs(const EvalOptions& options) const;

  struct Run {
    int pair = 0;             // which of process_pairs() it is, from 0
    bool wants_fresh = true;  // a plan gets an executor that nobody used before
  };
  // The report on one candidate (BenchSession::judge() says which options count). After an Error
  // the session is of no use.
  Result<WorkloadReport> judge(const Executable& candidate, const EvalOptions& options,
                               const std::stop_token& stop, Run run);
  // Times a few calls of a plan and checks one, beside the baseline. Its executor stays for the
  // next plan. After an Error likewise.
  Result<Tried> try_out(const Executable& plan, const std::stop_token& stop);
  // Modules: KernelBench's own trials. After an Error likewise.
  Result<bool> passes_kernelbench(const Executable& candidate, const std::stop_token& stop);

 private:
  ProblemSession() = default;
  ExecutorSetup executor_setup(const Executable& executable) const;
  ProblemKind kind() const { return module_ ? ProblemKind::kModule : ProblemKind::kDefinition; }
  Status await_baseline();
  Result<RunningRole> launch(const Executable& executable, OutgoingFds& fds,
                             const std::string& prefix, ExecutorSpec& spec);
  Result<RunningRole> candidates_role(const Executable& candidate, OutgoingFds& fds,
                                      CandidateStart& request);
  // The answer to a request about a candidate that runs in the role, beside the baseline.
  template <typename Answer>
  Result<Answer> ask_beside_baseline(const CheckerRequest& request, const OutgoingFds& fds,
                                     const RunningRole& role, const std::stop_token& stop);
  // A plan's executor stays for the next plan where another may run in it.
  void keep_resident(RunningRole role, bool is_usable);
  void end_resident();

  Context context_{};
  int threads_ = 1;
  bool module_ = false;
  CorePlan cores_;
  std::unique_ptr<CheckerProcess> checker_;
  RunningRole oracle_;
  std::optional<RunningRole> baseline_;
  std::optional<RunningRole> resident_;  // the last plan's executor, for the next plan
  bool baseline_starts_ = false;         // the checker's answer is still to come
  bool baseline_used_ = false;           // a candidate was judged beside it
  bool last_candidate_is_dead_ = true;   // every process of it
  double reference_seconds_ = 0;         // of one call
  os::UniqueFd source_;                  // of launch(): kept until the message is sent
  task::Signature signature_;
  AdmissionFindings findings_;
  std::string init_args_;
  std::vector<std::int64_t> written_inputs_;
  std::uint64_t memory_bytes_ = 0;
};

// The source that oracle and module baselines run: the definition's reference, or the module with
// its --set values applied.
Result<std::string> reference_source(const task::Problem& problem);

}  // namespace kw::gym
