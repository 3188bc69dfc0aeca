// The messages between a supervisor and one checker process (docs/protocol.md, "Checker").
// The supervisor sends a request with file descriptors, named in "fds"; the checker answers with a
// CheckerAnswer in a memory file, in the order of the requests. Before that it may ask for the
// timing lease by signals. Both processes trust each other.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compilation.h"
#include "gym/messages/workload_report.h"
#include "gym/problem_check.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::gym {

// Both processes must have the same number. It is raised with every change of a message.
inline constexpr std::int64_t kCheckerProtocol = 11;

enum class ProblemKind { kDefinition, kModule };
std::string_view to_string(ProblemKind kind);  // "definition", "module"
enum class ExecutorLanguage { kCpp, kPython, kPlan };
std::string_view to_string(ExecutorLanguage language);  // "cpp", "python", "plan"

// ---- what a process is to run

struct SourceSize {
  std::string path;
  std::uint64_t size = 0;  // bytes
  bool operator==(const SourceSize&) const = default;
};
// How a Triton candidate's kernels are interpreted.
struct TritonSetup {
  int arch = 0;                       // compute capability times 10
  std::vector<std::string> compiled;  // identities of the kernels that were compiled
  std::uint64_t configuration = 0;    // of an autotuner: 0 for the one that is judged, else another
  bool hide_values = false;           // host code sees made-up values
  bool drop_stores = false;           // kernels write nothing
  bool poison_masked = false;         // masked lanes without `other` are not zero
  bool operator==(const TritonSetup&) const = default;
};
// The part of an executor's setup message that the supervisor knows. The checker adds the last
// three members, and ExecutorClient adds what belongs to memory.
struct ExecutorSetup {
  ExecutorLanguage language = ExecutorLanguage::kCpp;
  ProblemKind kind = ProblemKind::kDefinition;
  std::string entry;
  bool has_prepare = false;
  std::string init_args;  // a Python literal
  int threads = 1;
  std::string entry_file;
  Compilation compilation = Compilation::kNone;  // of a reference
  std::optional<bool> destination_passing;       // nullopt: decided from the function's parameters
  std::vector<SourceSize> files;                 // Python
  std::optional<TritonSetup> triton;
  std::optional<int> device;  // the number of the GPU that it runs on; nullopt: the processor
  std::optional<std::uint64_t> param_seed;
  std::optional<bool> hand_over_state, private_inputs;
  // Places among the signature's inputs: each call gets a copy of these, since it writes to them.
  std::vector<std::int64_t> copied_inputs;
  bool operator==(const ExecutorSetup&) const = default;
};
Json to_json(const ExecutorSetup& setup);

struct ExecutorSpec {
  ExecutorSetup setup;
  Json monitor;  // sandbox::MonitorHandles::description
  bool operator==(const ExecutorSpec&) const = default;
};

// The function of the reference that makes the inputs, and what it is given: axes and scalars by
// name.
struct CustomInputs {
  std::string entry;
  Json numbers = Json::object();
  bool operator==(const CustomInputs&) const = default;
};

struct OracleSetup {
  ProblemKind kind = ProblemKind::kDefinition;
  std::string entry;
  int threads = 1;
  std::optional<int> device = std::nullopt;  // the GPU that references run on; nullopt: none
  std::optional<CustomInputs> custom_inputs = std::nullopt;  // definitions
  bool operator==(const OracleSetup&) const = default;
};
Json to_json(const OracleSetup& setup);

// ---- requests

struct InputPlan {
  std::string name;
  task::InputPolicy policy;
  task::InputPolicy ordinary;        // the distribution in the problem's other workloads
  std::optional<std::string> fixed;  // the descriptor with the tensor's bytes
};

// The part of EvalOptions and of the problem's policy that the checker needs.
struct CheckerOptions {
  int threads = 1;
  double timeout_seconds = 0;  // of one call; 0: max(2 s, 20 x the reference)
  bool timing = true;          // here and now
  bool timed = true;           // by the problem's policy
  bool hard_inputs = false;    // some calls get them
  bool deterministic = false;
  std::vector<std::string> disabled;  // EvalOptions::disabled
};

// Descriptors: reference, oracle.control, oracle.monitorN, timing.lock, timing.queue (where a GPU
// is timed its own, and as timing.cpu.lock and timing.cpu.queue those of the CPU), and those that
// `inputs` names.
struct OpenRequest {
  std::int64_t protocol = kCheckerProtocol;
  ProblemKind kind = ProblemKind::kDefinition;
  bool admit = false;                        // run the admission battery as well
  bool judge = true;                         // false: only the findings are wanted
  double oracle_timeout_seconds = 0;         // of one run of the reference; 0: 60 s
  std::optional<task::Signature> signature;  // definitions
  std::vector<InputPlan> inputs;  // definitions: one a tensor; modules: those with a policy
  std::map<std::string, task::OutputPolicy> outputs;  // by name; others have the default
  CheckerOptions options;
  OracleSetup oracle_setup;
  Json oracle_monitor;
};

// Descriptors: baseline.control, baseline.source, baseline.monitorN.
struct BaselineRequest {
  bool memory_is_free = false;  // no process can write to the pair's output memory any more
  // Whether each side gets the memory that the other one had; nullopt: drawn.
  std::optional<bool> exchanged;
  ExecutorSpec baseline;
};

// When a measurement of one workload ends. Judgements of one session may differ in it.
struct MeasuringGoal {
  double half_width = 0.03;  // of the speedup's 95 % interval over all process pairs
  double max_seconds = 30;   // of wall time, over all process pairs
  int process_pairs = 1;     // how many measurements, the next one among them, make the interval
  int pair = 0;              // which of them the next one is
  bool operator==(const MeasuringGoal&) const = default;
};

// This says where a candidate runs. Descriptors: candidate.control, candidate.source,
// candidate.monitorN.
struct CandidateStart {
  bool memory_is_free = false;
  // The candidate runs in the executor of the one before, which was left usable
  // (leaves_context_usable()). Then candidate.source is the only descriptor, and the spec is not
  // looked at.
  bool resident = false;
  ExecutorSpec candidate;
};
struct JudgeRequest : CandidateStart {
  MeasuringGoal goal;
};
struct KernelBenchRequest {
  ExecutorSpec candidate;
};
// Times a few calls of a candidate on a GPU and checks one: a configuration of an autotuner is
// tried out.
struct TrialRequest : CandidateStart {};
using CheckerRequest =
    std::variant<OpenRequest, BaselineRequest, JudgeRequest, KernelBenchRequest, TrialRequest>;

// ---- answers

struct Opened {
  AdmissionFindings findings;  // with a failure the members below are empty
  std::optional<task::Signature> signature;
  std::string init_args = "[]";                   // modules: a Python literal
  std::vector<std::int64_t> written_inputs = {};  // Oracle::written_inputs()
};
struct BaselineStarted {
  std::string failure = {};       // not empty: why it does not run
  std::int64_t reference_ns = 0;  // one call
};
struct KernelBenchTried {
  bool correctness = false;
};
struct Tried {
  task::Outcome outcome = task::Outcome::kPassed;  // of one checked call
  std::int64_t call_ns = 0;                        // the shortest one; 0: no call ended
};
struct CheckerFailed {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};
using CheckerAnswer =
    std::variant<Opened, BaselineStarted, WorkloadReport, KernelBenchTried, Tried, CheckerFailed>;

// ---- signals around the timing lease; they have no content

enum class Signal {
  kLease,    // checker: asks for the lease
  kGranted,  // supervisor: the lease is the checker's
  kRelease,  // checker: gives it back
  kAnswer,   // checker: the message's descriptor is the answer's file
};
std::string_view to_string(Signal signal);  // "lease", ...
Json to_json(Signal signal);
Result<Signal> signal_from_json(const Json& value);

// One object with "op" for requests and "type" for answers. Readers refuse what the writers do not
// write; they leave a request's "fds" to ReceivedFds. kInvalidArgument names the key.
Json to_json(const CheckerRequest& request);
Json to_json(const CheckerAnswer& answer);
Result<CheckerRequest> checker_request_from_json(Json value);
Result<CheckerAnswer> checker_answer_from_json(Json value);

}  // namespace kw::gym
