// Verdict: the judgement of one candidate on one problem. A failing candidate is a value here,
// never an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/gpu_facts.h"
#include "task/target.h"

namespace kw::task {

enum class Outcome {
  kPassed,
  kCompileError,
  kWrongShape,
  kWrongDtype,
  kWrongValue,
  kRuntimeError,
  kTimeout,
  kMemoryLimit,
  kOutputLimit,
  kViolation,    // Verdict::violation names the class
  kQuarantined,  // the problem, not the candidate
  kUnsupported,  // language, binding or target that this gym cannot run
  kNoisy,        // no time could be measured honestly; not the candidate's fault
};

std::string_view to_string(Outcome outcome);  // "passed", "compile_error", ...
std::optional<Outcome> outcome_from_string(std::string_view name);
bool is_candidates_fault(Outcome outcome);
int severity(Outcome outcome);  // the worst of several workloads is the verdict's: passed lowest

enum class EvidenceLevel { kTimed, kCompiled, kInterpreted, kUntimed };
std::string_view to_string(EvidenceLevel level);
std::optional<EvidenceLevel> evidence_level_from_string(std::string_view name);

// The clock that measured a verdict's times. kProcessor: other programs disturbed the wall clock,
// and the time in which they had the core was left out (docs/measuring.md).
enum class Clock { kWall, kProcessor };
std::string_view to_string(Clock clock);  // "wall", "processor"
std::optional<Clock> clock_from_string(std::string_view name);

// Error of one output over all checked calls of one workload.
struct OutputError {
  static constexpr std::int64_t kMaxCalls = std::int64_t{1} << 40;  // sums do not overflow
  std::string output;
  double max_absolute = 0;
  double max_relative = 0;
  double max_of_budget = 0;  // largest |difference| / budget; over 1 is wrong
  std::int64_t checked_calls = 0;
};

// The largest error of an output was near its budget, where a repetition might decide otherwise.
// Two further draws decide then (docs/correctness.md), and a pass pays nothing.
struct Borderline {
  static constexpr double kFrom = 0.9, kTo = 4;  // budgets
  static constexpr double kMostOfADraw = 1.1;    // budgets; beyond it one draw convicts
  static constexpr std::size_t kDraws = 2;
  double largest = 0;           // |difference| / budget, before the further draws
  std::vector<double> further;  // the same, for each draw

  // Whether the error is near, and a further draw is within the budget with none beyond
  // kMostOfADraw.
  bool passes() const;
  bool operator==(const Borderline&) const = default;
};

struct Speedup {
  double median = 0, low = 0,
         high = 0;  // reference time / candidate time, 95 % confidence interval
};

// Another form of the reference than the baseline, beside it.
struct Rival {
  std::string baseline;                                 // its name, as a baseline's
  std::optional<Speedup> over_baseline = std::nullopt;  // nullopt: it has no time
  std::string failure;                                  // why
};
// The fastest of the baseline and its rivals, and the candidate's speedup over it.
struct Strongest {
  std::string baseline;
  Speedup speedup;
};

struct Times {
  double candidate_ms = 0, reference_ms = 0;                       // medians
  std::vector<double> candidate_samples_ms, reference_samples_ms;  // paired, in the order measured
};

struct CompatKernelBench {
  bool compiled = false, correctness = false;
  double runtime_ms = -1;
};

struct CompatFlashInfer {
  std::string status;  // PASSED, INCORRECT_SHAPE, ...
  double max_relative_error = 0, max_absolute_error = 0;
};

struct Diagnostic {
  std::string kind;  // compiler, mismatch, borderline, exception, log, hint, risk, measurement ...
  std::string message;  // sanitised, coarse enough that hidden inputs cannot be rebuilt
};

// One kind of hard inputs of a timed workload (docs/correctness.md).
struct HardInputs {
  std::string inputs;      // "spikes", "spikes and others along axis 0"
  std::int64_t calls = 0;  // of the candidate on them
  std::string left_out;    // not empty: why nothing can be judged by them
  bool operator==(const HardInputs&) const = default;
};

struct WorkloadVerdict {
  std::string uuid;
  Outcome outcome = Outcome::kPassed;
  std::string violation;
  std::vector<OutputError> errors;
  std::optional<Borderline> borderline;
  std::optional<Times> times;
  std::optional<Clock> clock;  // of the times
  std::optional<Speedup> speedup;
  std::vector<Rival> rivals;           // that were measured
  std::optional<Strongest> strongest;  // where there are some
  CompatKernelBench kernelbench;
  CompatFlashInfer flashinfer;
  std::vector<HardInputs> hard_inputs;
  std::optional<GpuFacts> gpu;
  std::vector<Diagnostic> diagnostics;
};

struct Cost {
  double compile_ms = 0, load_ms = 0, prepare_ms = 0, check_ms = 0, time_ms = 0, total_ms = 0;
};

// What made a verdict. Texts are empty where the machine has no such tool, or nobody says.
struct MadeWith {
  int gym_version = 0;          // 0: nobody says
  std::string compiler;         // of C++: "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"
  std::string device_compiler;  // of CUDA: the file of NVRTC, nvcc or ptxas
  std::string torch, triton;    // versions
  bool operator==(const MadeWith&) const = default;
};
Json to_json(const MadeWith& made_with);
Result<MadeWith> made_with_from_json(const Json& value, const std::string& where);

struct Verdict {
  static constexpr int kSchema = 1;
  Target target = Target::kCpu;
  EvidenceLevel evidence_level = EvidenceLevel::kTimed;
  std::string problem_name, problem_hash;
  std::string candidate_name, candidate_hash, language;
  Outcome outcome = Outcome::kPassed;
  std::string violation;  // class, with kViolation
  std::vector<WorkloadVerdict> workloads;
  CompatKernelBench kernelbench;
  CompatFlashInfer flashinfer;
  std::optional<Times> times;      // of the first timed workload; geometric means are in speedup
  std::optional<Clock> clock;      // the processor's, if any workload's times are by that
  std::optional<Speedup> speedup;  // geometric mean over timed workloads; null unless passed
  // Geometric mean over timed workloads; the name is "several" where workloads have different ones.
  std::optional<Strongest> strongest;
  std::optional<Coverage> coverage;  // of timed workloads; none on a CPU
  Cost cost;
  std::string baseline = "eager";
  std::vector<Diagnostic> diagnostics;
  std::string evidence;  // path of the evidence bundle, empty when not stored
  MadeWith made_with;    // on the machine that judged
};

// Whether no workload fails and an error of one was near its budget: a pass that pays nothing.
bool is_borderline(const Verdict& verdict);
// The outcome's name; "borderline" for such a pass, where only correct kernels may be "passed".
std::string_view outcome_name(const Verdict& verdict);

Json to_json(const Verdict& verdict);
Result<Verdict> verdict_from_json(const Json& value, const std::string& where);

}  // namespace kw::task
