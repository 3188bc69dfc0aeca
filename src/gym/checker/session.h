// Session: one open workload in the checker: oracle, learned budgets, statics, input sets,
// baseline. Judges candidates one after the other. Single-threaded.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "gym/checker/buffers.h"
#include "gym/checker/input_source.h"
#include "gym/checker/kernelbench_trials.h"
#include "gym/checker/oracle_client.h"
#include "gym/checker/output_checker.h"
#include "gym/checker/side.h"
#include "gym/checker/turn.h"
#include "gym/inputs/seeds.h"
#include "gym/named_fds.h"
#include "task/signature.h"

namespace kw::gym {

// Mechanisms, so that a test can switch each off and show what gets through then
// (docs/security.md). All on otherwise.
struct Mechanisms {
  bool freeze = true, poison = true, rehash = true, moving_addresses = true, fresh_inputs = true,
       canaries = true, interleaving = true, seal = true;
  bool clear = true;        // memory is zeroed before another executor gets it
  bool snapshot = true;     // compare at once, before anything else runs
  bool check_timed = true;  // every timed call is compared
  bool audit = true;        // secret calls are compared with float64
  bool cpu_witness = true;  // core time may not exceed wall time

  // "admission" and "evidence" are the supervisor's. kInvalidArgument for an unknown name.
  static Result<Mechanisms> without(const std::vector<std::string>& disabled);
};

struct SessionOptions {
  int threads = 1;
  double half_width = 0.03;  // of the interval over all of them
  bool timing = true, deterministic = false;
  double max_seconds = 30, timeout_seconds = 0;
  Mechanisms mechanisms;
};

// Inputs whose float64 outputs are known: a secret call of every judgement runs on them. Not shown
// to a candidate twice, and replaced after kMostUses candidates.
struct AuditInstance {
  static constexpr int kMostUses = 32;
  std::uint64_t seed = 0;  // of the inputs
  Instance instance;
  std::unique_ptr<OracleComparison> comparison;  // borrows the instance
  int uses = 0;
};

// What is run to see how a result moves.
struct PerturbedRuns {
  int count = 1;
  // Whether those after the first two also move the results of elementary functions.
  bool move_functions = false;
};

class Session {
 public:
  // The "open" request. What the reference cannot do is in "failure" of the answer.
  static Result<std::unique_ptr<Session>> open(Json body, ReceivedFds fds, Json& answer);
  // Each needs a turn.
  Turn& turn() { return *turn_; }
  Result<Json> start_baseline(const Json& body, ReceivedFds& fds);
  // Modules: whether a candidate passes KernelBench's own trials.
  Result<Json> kernelbench(const Json& body, ReceivedFds& fds);
  // The whole judgement of one candidate; control: for timing leases.
  Result<Json> judge(const Json& body, ReceivedFds& fds, int control);

 private:
  friend class Judgement;
  Session() = default;
  Status read_options(const Json& options);
  Result<OracleAnswer> prepare_problem(const Json& body, ReceivedFds& fds);
  Result<OracleAnswer> learn();
  Status learn_terms();
  Result<OracleAnswer> run_oracle(const SharedTensors& inputs, Instance& instance,
                                  PerturbedRuns perturbed = {});
  bool fall_back_to_second(const OracleAnswer& float64);
  Result<OracleAnswer> learn_from(std::uint64_t seed, int perturbed_runs, Instance& instance);
  Status keep_audit_instances();
  // Replaces worn instances. Nothing is lost when the oracle fails: audits then ask it themselves.
  Status renew_audit_instances();
  Status admit(Json& answer);
  Status make_sets();
  Result<std::unique_ptr<Side>> attach(const Json& spec, ReceivedFds& fds,
                                       const std::string& prefix, OutputMemory& output);
  Result<std::unique_ptr<Side>> attach(const Json& spec, ReceivedFds& fds,
                                       const std::string& prefix, ExecutorMemory memory);
  // For the next pair, or the next candidate beside the same baseline. is_free: nothing of those
  // before can write to it any more; it is used again then, else new memory is made. exchanged:
  // whether each side gets what the other had when it was drawn last; nullopt draws.
  Status renew_output_memory(bool is_free, std::optional<bool> exchanged);
  Status renew_candidate_memory(bool is_free);
  // Seeds of this session: fresh for every use.
  std::uint64_t next_seed() { return seeds_.seed("session", ++seeds_used_); }

  SecretSeeds seeds_;
  std::uint64_t seeds_used_ = 0;
  SessionOptions options_;
  bool module_ = false;
  std::unique_ptr<Turn> turn_;
  std::unique_ptr<OracleClient> oracle_;
  bool unfit_ = false;  // the reference runs, but nothing can be judged by it
  task::Signature signature_;
  std::vector<const task::Argument*> input_tensors_;
  std::string init_args_ = "[]";
  std::uint64_t param_seed_ = 0;
  std::unique_ptr<InputSource> inputs_;
  std::unique_ptr<SharedTensors> statics_;  // null: none
  std::vector<SharedTensors> sets_;
  std::unique_ptr<OutputChecker> checker_;
  // What the declared precision is compared with: kSecond where the reference does not run in
  // float64.
  Precision exact_precision_ = Precision::kFloat64;
  bool exact_precision_is_settled_ = false;
  std::vector<std::uint64_t> learned_seeds_;
  std::vector<Instance> learned_from_;
  std::vector<std::unique_ptr<AuditInstance>> audit_instances_;
  OutputMemory baseline_memory_, candidate_memory_;
  bool memory_exchanged_ = false;  // since it was drawn which side gets which
  std::unique_ptr<KernelBenchTrials> kernelbench_trials_;  // made when first needed
  bool candidate_memory_is_clear_ = false;                 // no executor has had it since
  std::unique_ptr<Side> baseline_;
  std::chrono::nanoseconds reference_time_{0};  // one call of the baseline, by its warm-up
};

}  // namespace kw::gym
