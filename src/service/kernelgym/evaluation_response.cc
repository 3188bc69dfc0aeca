#include "service/kernelgym/evaluation_response.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gym/version.h"
#include "task/verdict.h"

namespace kw::service::kernelgym {
namespace {

constexpr std::size_t kMaxDetailBytes = 16384;

// KernelGYM's words for an outcome.
struct Words {
  const char* error_code = nullptr;  // nullptr: no error
  const char* message = "";          // the diagnostics follow
  const char* detail_key = "";       // of metadata
  bool is_final_word = true;         // about the candidate; false: nothing is known of it
};

Words words_of(task::Outcome outcome) {
  using enum task::Outcome;
  switch (outcome) {
    case kPassed:
    case kNoisy:
      return {};
    case kCompileError:
      return {"COMPILATION_ERROR", "Kernel compilation failed", "compilation_error"};
    case kWrongShape:
    case kWrongDtype:
    case kWrongValue:
      return {"CORRECTNESS_ERROR", "Kernel produced incorrect results", "correctness_issue"};
    case kRuntimeError:
      return {"RUNTIME_ERROR", "Kernel execution failed", "runtime_error"};
    case kTimeout:
      return {"TIMEOUT_ERROR", "Kernel execution timed out", "runtime_error"};
    case kMemoryLimit:
    case kOutputLimit:
      return {"RESOURCE_ERROR", "Kernel went over a limit", "runtime_error"};
    case kViolation:
      return {"CORRECTNESS_ERROR", "Kernel broke a rule", "correctness_issue"};
    case kQuarantined:
      return {"VALIDATION_ERROR", "The reference cannot be judged against", "error", false};
    case kUnsupported:
      return {"RESOURCE_ERROR", "No worker here can judge this", "error", false};
  }
  return {"UNKNOWN_ERROR", "", "error", false};
}

std::string details_of(const task::Verdict& verdict) {
  std::string out;
  const auto add = [&](const std::vector<task::Diagnostic>& from) {
    for (const task::Diagnostic& each : from)
      if (out.size() < kMaxDetailBytes && each.kind != "kernels" && each.kind != "measurement")
        out += (out.empty() ? "" : "\n") + each.message;
  };
  add(verdict.diagnostics);
  for (const task::WorkloadVerdict& each : verdict.workloads)
    if (each.outcome == verdict.outcome) add(each.diagnostics);
  return printable(out, kMaxDetailBytes);
}

Json metadata_of(const task::Verdict& verdict) {
  Json out = {{"device", to_string(verdict.target)},
              {"backend", verdict.language == "triton" ? "triton" : "cuda"}};
  if (verdict.coverage) {
    out["time_coverage"] = verdict.coverage->time;
    out["num_coverage"] = verdict.coverage->count;
  }
  Json& ours = out["kernelwright"] = {{"outcome", to_string(verdict.outcome)},
                                      {"violation", verdict.violation},
                                      {"evidence_level", to_string(verdict.evidence_level)},
                                      {"problem_hash", verdict.problem_hash},
                                      {"candidate_hash", verdict.candidate_hash},
                                      {"gym_version", gym::kGymVersion},
                                      {"evidence", verdict.evidence}};
  if (task::is_borderline(verdict)) ours["borderline"] = true;
  if (verdict.speedup) {
    ours["speedup_low"] = verdict.speedup->low;
    ours["speedup_high"] = verdict.speedup->high;
  }
  out["kernelbench"] = {{"compiled", verdict.kernelbench.compiled},
                        {"correctness", verdict.kernelbench.correctness}};
  return out;
}

Json blank_response(const std::string& task_id) {
  return {{"task_id", task_id},         {"status", "failed"},
          {"compiled", nullptr},        {"correctness", nullptr},
          {"decoy_kernel", nullptr},    {"reference_runtime", -1.0},
          {"kernel_runtime", -1.0},     {"speedup", 0.0},
          {"metadata", Json::object()}, {"error_message", nullptr},
          {"error_code", nullptr},      {"submitted_at", nullptr},
          {"completed_at", nullptr},    {"processing_time", nullptr}};
}

Json failed_response(const std::string& task_id, const char* code, const std::string& message) {
  Json out = blank_response(task_id);
  out["error_code"] = code;
  out["error_message"] = printable(message, kMaxDetailBytes);
  out["metadata"] = {{"error", out["error_message"]}};
  return out;
}

bool has_failed(const task::Verdict& verdict) {
  return !words_of(verdict.outcome).is_final_word || !verdict.kernelbench.compiled ||
         verdict.outcome == task::Outcome::kCompileError ||
         verdict.outcome == task::Outcome::kTimeout;
}

Json verdict_response(const std::string& task_id, const task::Verdict& verdict) {
  Json out = blank_response(task_id);
  const Words words = words_of(verdict.outcome);
  out["metadata"] = metadata_of(verdict);
  if (words.is_final_word) {
    const bool is_correct = words.error_code == nullptr;
    out["compiled"] = is_correct || (verdict.kernelbench.compiled &&
                                     verdict.outcome != task::Outcome::kCompileError);
    out["correctness"] = is_correct;
    out["decoy_kernel"] = verdict.outcome == task::Outcome::kViolation;
    if (is_correct && verdict.times) {
      out["kernel_runtime"] = verdict.times->candidate_ms;
      out["reference_runtime"] = verdict.times->reference_ms;
    }
    if (is_correct && verdict.speedup) out["speedup"] = verdict.speedup->median;
    if (is_correct) out["status"] = "completed";
  }
  if (words.error_code == nullptr) return out;
  if (!has_failed(verdict)) out["status"] = "completed";
  const std::string details = details_of(verdict);
  std::string message = words.message;
  if (!verdict.violation.empty()) message += " (" + verdict.violation + ")";
  if (!details.empty()) message += ": " + details;
  out["error_code"] = words.error_code;
  out["error_message"] = message;
  out["metadata"][words.detail_key] = details.empty() ? words.message : details;
  return out;
}

// nullopt for a task without one.
std::optional<task::Verdict> verdict_of(const service::TaskStatus& status) {
  const auto answer = parse_json(status.answer);
  if (!answer || !answer->is_object() || !answer->contains("verdict")) return std::nullopt;
  auto verdict = task::verdict_from_json((*answer)["verdict"], "verdict");
  if (!verdict) return std::nullopt;
  return std::move(*verdict);
}

}  // namespace

std::string status_word(const service::TaskStatus& status) {
  if (!status.is_final) return status.state == "leased" ? "processing" : "pending";
  return evaluation_response("", status)["status"];
}

Json evaluation_response(const std::string& task_id, const service::TaskStatus& status) {
  if (const auto verdict = verdict_of(status)) return verdict_response(task_id, *verdict);
  if (status.state == "cancelled")
    return failed_response(task_id, "SYSTEM_ERROR", "Task cancelled");
  const auto answer = parse_json(status.answer);
  const bool has_error = answer && answer->is_object() && answer->contains("error");
  return failed_response(task_id, "SYSTEM_ERROR",
                         has_error ? (*answer)["error"].value("message", "no verdict")
                                   : "no verdict: the task is " + status.state);
}

Json refused_response(const std::string& task_id, const Error& why, bool is_kernels_fault) {
  const bool is_unsupported = why.code() == ErrorCode::kUnsupported;
  Json out = failed_response(task_id, is_unsupported ? "RESOURCE_ERROR" : "VALIDATION_ERROR",
                             why.message());
  if (!is_unsupported) out["metadata"]["validation_error"] = out["error_message"];
  if (is_kernels_fault) out["compiled"] = out["correctness"] = out["decoy_kernel"] = false;
  return out;
}

Json workflow_response(const Json& evaluation) {
  Json result = evaluation;
  result.erase("status");
  return {{"task_id", evaluation["task_id"]},
          {"status", evaluation["status"]},
          {"result", std::move(result)},
          {"error_message", evaluation["error_message"]},
          {"error_code", evaluation["error_code"]},
          {"submitted_at", evaluation["submitted_at"]},
          {"completed_at", evaluation["completed_at"]}};
}

}  // namespace kw::service::kernelgym
