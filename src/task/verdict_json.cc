// Verdicts to JSON, schema 1: docs/formats/verdict.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "task/verdict.h"

namespace kw::task {
namespace {

// JSON has no infinities and no NaN, and an error of "inf" must survive: they are written as text.
Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json to_json(const OutputError& error) {
  return {{"output", error.output},
          {"max_absolute", number(error.max_absolute)},
          {"max_relative", number(error.max_relative)},
          {"max_of_budget", number(error.max_of_budget)},
          {"checked_calls", error.checked_calls}};
}

Json to_json(const Times& times) {
  return {{"candidate_ms", times.candidate_ms},
          {"reference_ms", times.reference_ms},
          {"samples",
           {{"candidate_ms", times.candidate_samples_ms},
            {"reference_ms", times.reference_samples_ms}}}};
}

Json to_json(const Borderline& borderline) {
  return {{"largest", number(borderline.largest)}, {"further", borderline.further}};
}

Json to_json(const Speedup& speedup) {
  return {{"median", speedup.median}, {"low", speedup.low}, {"high", speedup.high}};
}

Json to_json(const Coverage& coverage) {
  return {{"time", coverage.time}, {"count", coverage.count}};
}

Json compat_to_json(const CompatKernelBench& kernelbench, const CompatFlashInfer& flashinfer) {
  return {{"kernelbench",
           {{"compiled", kernelbench.compiled},
            {"correctness", kernelbench.correctness},
            {"runtime", kernelbench.runtime_ms}}},
          {"flashinfer",
           {{"status", flashinfer.status},
            {"max_relative_error", number(flashinfer.max_relative_error)},
            {"max_absolute_error", number(flashinfer.max_absolute_error)}}}};
}

Json to_json(const Diagnostic& diagnostic) {
  return {{"kind", diagnostic.kind}, {"message", diagnostic.message}};
}

Json to_json(const HardInputs& hard) {
  Json out = {{"inputs", hard.inputs}, {"calls", hard.calls}};
  if (!hard.left_out.empty()) out["left_out"] = hard.left_out;
  return out;
}

Json to_json(const Rival& rival) {
  if (!rival.over_baseline) return {{"baseline", rival.baseline}, {"failure", rival.failure}};
  return {{"baseline", rival.baseline}, {"over_baseline", to_json(*rival.over_baseline)}};
}

Json to_json(const Strongest& strongest) {
  return {{"baseline", strongest.baseline}, {"speedup", to_json(strongest.speedup)}};
}

Json to_json(Clock clock) {
  return to_string(clock);
}

Json to_json(const WorkloadVerdict& workload);

template <typename T>
Json optional_to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

template <typename T>
Json list_to_json(const std::vector<T>& items) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(to_json(item));
  return out;
}

Json to_json(const WorkloadVerdict& workload) {
  Json out = {{"uuid", workload.uuid},
              {"outcome", to_string(workload.outcome)},
              {"violation", text_or_null(workload.violation)},
              {"compat", compat_to_json(workload.kernelbench, workload.flashinfer)},
              {"errors", list_to_json(workload.errors)},
              {"times", optional_to_json(workload.times)},
              {"clock", optional_to_json(workload.clock)},
              {"speedup", optional_to_json(workload.speedup)},
              {"hard_inputs", list_to_json(workload.hard_inputs)},
              {"diagnostics", list_to_json(workload.diagnostics)}};
  if (workload.borderline) out["borderline"] = to_json(*workload.borderline);
  if (!workload.rivals.empty()) out["rivals"] = list_to_json(workload.rivals);
  if (workload.strongest) out["strongest"] = to_json(*workload.strongest);
  if (workload.gpu) {
    std::optional<double> candidate_ms;
    if (workload.times) candidate_ms = workload.times->candidate_ms;
    out["gpu"] = to_json(*workload.gpu, candidate_ms);
  }
  return out;
}

Json to_json(const Cost& cost) {
  return {{"compile_ms", cost.compile_ms}, {"load_ms", cost.load_ms},
          {"prepare_ms", cost.prepare_ms}, {"check_ms", cost.check_ms},
          {"time_ms", cost.time_ms},       {"total_ms", cost.total_ms}};
}

// The larger of two error measures, where NaN is worse than anything.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

// Each output's worst over all workloads.
std::vector<OutputError> worst_errors(const std::vector<WorkloadVerdict>& workloads) {
  std::vector<OutputError> out;
  for (const WorkloadVerdict& workload : workloads) {
    for (const OutputError& error : workload.errors) {
      auto known = std::find_if(out.begin(), out.end(),
                                [&](const OutputError& e) { return e.output == error.output; });
      if (known == out.end()) {
        out.push_back(error);
        continue;
      }
      known->max_absolute = worse(known->max_absolute, error.max_absolute);
      known->max_relative = worse(known->max_relative, error.max_relative);
      known->max_of_budget = worse(known->max_of_budget, error.max_of_budget);
      known->checked_calls += error.checked_calls;
    }
  }
  return out;
}

}  // namespace

Json to_json(const MadeWith& made_with) {
  Json out = Json::object();
  if (made_with.gym_version != 0) out["gym_version"] = made_with.gym_version;
  for (const auto& [key, text] : {std::pair("compiler", &made_with.compiler),
                                  {"device_compiler", &made_with.device_compiler},
                                  {"torch", &made_with.torch},
                                  {"triton", &made_with.triton}})
    if (!text->empty()) out[key] = *text;
  return out;
}

Json to_json(const Verdict& verdict) {
  Json out = {{"schema", Verdict::kSchema},
              {"target", to_string(verdict.target)},
              {"evidence_level", to_string(verdict.evidence_level)},
              {"problem", {{"name", verdict.problem_name}, {"hash", verdict.problem_hash}}},
              {"candidate",
               {{"name", verdict.candidate_name},
                {"hash", verdict.candidate_hash},
                {"language", verdict.language}}},
              {"outcome", to_string(verdict.outcome)},
              {"violation", text_or_null(verdict.violation)},
              {"compat", compat_to_json(verdict.kernelbench, verdict.flashinfer)},
              {"errors", list_to_json(worst_errors(verdict.workloads))},
              {"times", optional_to_json(verdict.times)},
              {"clock", optional_to_json(verdict.clock)},
              {"speedup", optional_to_json(verdict.speedup)},
              {"coverage", optional_to_json(verdict.coverage)},
              {"baseline", verdict.baseline},
              {"workloads", list_to_json(verdict.workloads)},
              {"cost", to_json(verdict.cost)},
              {"diagnostics", list_to_json(verdict.diagnostics)},
              {"evidence", text_or_null(verdict.evidence)}};
  if (verdict.strongest) out["strongest"] = to_json(*verdict.strongest);
  if (verdict.made_with != MadeWith()) out["made_with"] = to_json(verdict.made_with);
  return out;
}

}  // namespace kw::task
