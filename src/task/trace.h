// FlashInfer-Bench's Trace: one workload, with the solution judged on it and the result.
// docs/formats/trace.md.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"
#include "task/verdict.h"

namespace kw::task {

enum class TraceStatus {
  kPassed,
  kIncorrectShape,
  kIncorrectNumerical,
  kIncorrectDtype,
  kRuntimeError,
  kCompileError,
  kTimeout,
};
std::string_view to_string(TraceStatus status);  // "PASSED", ...

struct TraceEnvironment {
  std::string hardware;
  std::map<std::string, std::string> libs;
};

struct TraceCorrectness {
  double max_relative_error = 0, max_absolute_error = 0;
  Json extra;  // an object, or null
};

struct TracePerformance {
  double latency_ms = 0, reference_latency_ms = 0, speedup_factor = 0;
};

struct Evaluation {
  static constexpr std::size_t kMaxLog = 5ULL * 1024 * 1024;
  TraceStatus status = TraceStatus::kPassed;
  TraceEnvironment environment;
  std::string timestamp;                        // ISO 8601
  std::string log;                              // at most kMaxLog bytes
  std::optional<TraceCorrectness> correctness;  // exactly with PASSED and INCORRECT_NUMERICAL
  std::optional<TracePerformance> performance;  // exactly with PASSED
};

struct Trace {
  std::string definition;
  Workload workload;
  std::optional<std::string> solution;  // none: the line only lists the workload
  std::optional<Evaluation> evaluation;
};

Json to_json(const Trace& trace);
Result<Trace> trace_from_json(const Json& value, const std::string& where);

// A verdict as Trace lines, one per workload that has something to say in this format: passes
// without a time, quarantined problems, unsupported candidates and noisy measurements are left out;
// a violation anywhere makes every line RUNTIME_ERROR with its class in the log. A verdict without
// workloads (a build that failed) gives a line for each workload of the problem.
std::vector<Trace> traces_of(const Verdict& verdict, const Problem& problem,
                             const TraceEnvironment& environment, const std::string& timestamp);

}  // namespace kw::task
