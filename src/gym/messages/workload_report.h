// WorkloadReport: what one candidate did on one workload. The checker makes it, the supervisor adds
// to it, and evidence keeps it (docs/formats/evidence.md). A verdict is made of these reports.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/compilation.h"
#include "gym/messages/json_fields.h"
#include "task/verdict.h"

namespace kw::gym {

// The reference's run with which outputs were compared. kSecondImplementation: the reference does
// not run in float64, so other operators computed it at the declared precision.
enum class OracleKind { kFloat64, kSecondImplementation };
std::string_view to_string(OracleKind kind);  // "float64", "second_implementation"

template <>
inline constexpr auto kLastOf<OracleKind> = OracleKind::kSecondImplementation;
template <>
inline constexpr auto kLastOf<Compilation> = Compilation::kMaxAutotune;
template <>
inline constexpr auto kLastOf<task::Outcome> = task::Outcome::kNoisy;
template <>
inline constexpr auto kLastOf<task::Clock> = task::Clock::kProcessor;

// The launches of one Triton kernel, as the executor reported them: not to be trusted.
struct LaunchedKernel {
  std::string identity;  // 64 hexadecimal digits, as in TritonKernel
  std::uint64_t launches = 0;
  std::uint64_t programs = 0;  // of all launches
  bool operator==(const LaunchedKernel&) const = default;
};
struct LaunchReport {
  std::uint32_t kernel_count = 0;    // different kernels; `kernels` has at most kMaxKernels of them
  std::uint64_t library_calls = 0;   // torch operators that computed outside the kernels
  std::uint32_t configurations = 0;  // the most that an autotuner had to choose from; 0: none
  bool masked_lanes = false;         // lanes were loaded that a mask left out, without `other`
  std::vector<LaunchedKernel> kernels;
  bool operator==(const LaunchReport&) const = default;
};

// The same launches with what the build knows of the kernel. A kernel that was not compiled has no
// name and no options.
struct RanKernel {
  std::string name;
  std::uint64_t launches = 0, programs = 0;
  std::optional<std::uint32_t> num_warps, num_stages;
  std::optional<std::uint64_t> shared_bytes;  // of one block
  bool operator==(const RanKernel&) const = default;
};

// One of the reference's forms beside the baseline, on the candidate's workload.
struct RivalReport {
  std::string baseline;                        // its name, as a baseline's
  std::string failure;                         // not empty: why it has no times
  std::vector<double> rival_ns, reference_ns;  // paired samples, as a candidate's
  std::vector<std::int64_t> pair_samples;
  bool operator==(const RivalReport&) const = default;
};

struct WorkloadCost {
  double load_ms = 0, prepare_ms = 0;  // the candidate's process
  double calibrate_ms = 0;             // launches without a call
  double fill_ms = 0;                  // inputs, and guards around outputs
  double check_ms = 0;                 // those, and comparisons
  double time_ms = 0;                  // timed calls
  double lease_ms = 0;                 // until others had measured
  double gpu_busy_ms = 0;              // the GPU had something outstanding of all this
  void add(const WorkloadCost& more);
  bool operator==(const WorkloadCost&) const = default;
};

struct WorkloadReport {
  std::string uuid;                                // the supervisor's
  task::Outcome outcome = task::Outcome::kPassed;  // kCompileError: nothing else is written
  std::string violation;                           // the class, with kViolation only
  std::vector<task::OutputError> errors;           // by output
  std::optional<task::Borderline> borderline;      // an error was near its budget
  // Paired samples of all process pairs, one after the other: nanoseconds of one call.
  std::vector<double> candidate_ns, reference_ns;
  task::Clock clock = task::Clock::kWall;  // the processor's, if any process pair's samples are
  bool timed = false;
  std::vector<std::int64_t> pair_samples;  // how many of the samples each process pair gave
  std::int64_t null_launch_ns = 0;         // a launch without a call: taken off every sample
  std::int64_t blocks = 0;
  std::uint64_t disturbed_samples = 0, disturbed_by_faults = 0;  // the latter are among the former
  std::int64_t audits = 0;                                       // comparisons with float64
  OracleKind oracle = OracleKind::kFloat64;
  double call_ms = 0;  // wall time of all calls of the candidate
  std::uint64_t candidate_page_faults = 0, reference_page_faults = 0;
  // Time in which a process was ready to run and another one had its core.
  std::int64_t candidate_waited_ns = 0, reference_waited_ns = 0;
  WorkloadCost cost;
  std::vector<RivalReport> rivals;  // of candidates that are faster than the baseline
  std::optional<task::GpuFacts> gpu;
  task::CompatFlashInfer flashinfer;
  std::optional<task::CompatKernelBench> kernelbench;
  std::vector<task::HardInputs> hard_inputs;  // that some calls may have had
  std::vector<task::Diagnostic> diagnostics;
  std::optional<LaunchReport> launches;           // Triton candidates
  std::optional<std::vector<RanKernel>> kernels;  // Triton candidates; the supervisor's
  std::string log;                                // the candidate's own text; the supervisor's

  bool has_passed() const { return outcome == task::Outcome::kPassed; }
  void add_hint(std::string message) { diagnostics.push_back({"hint", std::move(message)}); }
  // A report that is no pass has no times.
  void clear_samples();
};

// Whether another candidate may run in the context of a GPU in which one with this outcome ran.
bool leaves_context_usable(task::Outcome outcome);

Json to_json(const WorkloadReport& report);
// kInvalidArgument names the key. Samples and counts are not range-checked: verdict_from_evidence()
// does that.
Status read_json(const Json& value, const std::string& where, Reading how, WorkloadReport& out);

}  // namespace kw::gym
