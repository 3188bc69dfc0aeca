// From evidence to verdict, and the bundle's file form.
#include "gym/evidence.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/text.h"
#include "gym/measure/sequential_interval.h"
#include "os/file.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxDiagnostic = 4096;
constexpr std::size_t kMaxEvidence = 256ULL << 20U;

Result<std::vector<double>> milliseconds(ObjectReader& reader, std::string_view key) {
  std::vector<double> out;
  const Json* list = reader.find(key);
  if (list == nullptr) return out;
  if (!list->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
  for (const Json& item : *list) {
    if (!item.is_number())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
    out.push_back(item.get<double>() / 1e6);
  }
  return out;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Result<task::OutputError> output_error(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  task::OutputError error;
  KW_TRY(error.output, reader.string("output"));
  KW_TRY(error.max_absolute, reader.number_or("max_absolute", INFINITY));
  KW_TRY(error.max_relative, reader.number_or("max_relative", INFINITY));
  KW_TRY(error.max_of_budget, reader.number_or("max_of_budget", INFINITY));
  KW_TRY(error.checked_calls, reader.integer("checked_calls"));
  return error;
}

Status read_diagnostics(ObjectReader& reader, std::vector<task::Diagnostic>& out) {
  if (const Json* list = reader.find("diagnostics"); list != nullptr && list->is_array()) {
    for (const Json& item : *list) {
      out.push_back(
          {item.value("kind", "hint"), printable(item.value("message", ""), kMaxDiagnostic)});
    }
  }
  return {};
}

// Times and interval from the raw samples, never from a stored interval.
Status read_times(ObjectReader& reader, task::WorkloadVerdict& verdict) {
  KW_TRY(auto candidate, milliseconds(reader, "candidate_ns"));
  KW_TRY(auto reference, milliseconds(reader, "reference_ns"));
  KW_TRY(std::int64_t blocks, reader.integer_or("blocks", 0));
  KW_TRY(bool timed, reader.boolean_or("timed", false));
  if (candidate.empty() && timed && verdict.outcome == task::Outcome::kPassed) {
    verdict.diagnostics.push_back(
        {"measurement",
         fmt::format("no time: {} blocks are too few: raise --max-seconds", blocks)});
  }
  if (candidate.empty() || candidate.size() != reference.size()) return {};
  KW_TRY(std::int64_t process_pairs, reader.integer_or("process_pairs", 1));
  auto report = interval_of_samples(candidate, reference, static_cast<int>(process_pairs));
  verdict.times = task::Times{median_of(candidate), median_of(reference), candidate, reference};
  if (std::isfinite(report.low) && std::isfinite(report.high)) {
    verdict.speedup = report;
  } else {
    verdict.diagnostics.push_back(
        {"measurement", fmt::format("{} blocks are too few for an interval: raise --max-seconds",
                                    candidate.size())});
  }
  return {};
}

Result<task::WorkloadVerdict> workload_verdict(const Json& value, const std::string& where) {
  task::WorkloadVerdict verdict;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(verdict.uuid, reader.string("uuid"));
  KW_TRY(std::string outcome, reader.string("outcome"));
  auto known = task::outcome_from_string(outcome);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "{}.outcome: unknown outcome {}", where,
                printable(outcome, 40));
  verdict.outcome = *known;
  KW_TRY(verdict.violation, reader.string_or("violation", ""));
  bool beyond_budget = false;
  if (const Json* errors = reader.find("errors"); errors != nullptr) {
    for (const Json& item : *errors) {
      KW_TRY(task::OutputError error, output_error(item, where + ".errors"));
      beyond_budget = beyond_budget || !(error.max_of_budget <= 1);
      verdict.errors.push_back(std::move(error));
    }
  }
  // A recorded comparison beyond its budget can never be a pass, whatever else the bundle says.
  if (beyond_budget && verdict.outcome == task::Outcome::kPassed)
    verdict.outcome = task::Outcome::kWrongValue;
  if (const Json* kb = reader.find("kernelbench"); kb != nullptr) {
    verdict.kernelbench.compiled = kb->value("compiled", false);
    verdict.kernelbench.correctness = kb->value("correctness", false);
  }
  if (const Json* fib = reader.find("flashinfer"); fib != nullptr) {
    verdict.flashinfer.status = fib->value("status", "");
    verdict.flashinfer.max_absolute_error = fib->value("max_absolute_error", 0.0);
    verdict.flashinfer.max_relative_error = fib->value("max_relative_error", 0.0);
  }
  KW_TRY_STATUS(read_diagnostics(reader, verdict.diagnostics));
  KW_TRY_STATUS(read_times(reader, verdict));
  if (verdict.times) verdict.kernelbench.runtime_ms = verdict.times->candidate_ms;
  KW_TRY(std::string log, reader.string_or("log", ""));
  if (verdict.outcome != task::Outcome::kPassed && !trim(log).empty()) {
    verdict.diagnostics.push_back({"log", printable(log, kMaxDiagnostic)});
  }
  return verdict;
}

// Once, however many workloads are concerned.
void add_oracle(const Json& evidence, task::Verdict& verdict) {
  for (const Json& workload : evidence.value("workloads", Json::array())) {
    if (workload.value("oracle", "") != "second_implementation") continue;
    verdict.diagnostics.push_back(
        {"oracle",
         "the reference does not run in float64: outputs were compared with two implementations of "
         "it at the declared precision"});
    return;
  }
}

void add_cost(const Json& evidence, task::Cost& cost) {
  const Json stages = evidence.value("cost", Json::object());
  cost.compile_ms = stages.value("compile_ms", 0.0);
  cost.total_ms = stages.value("total_ms", 0.0);
  for (const Json& workload : evidence.value("workloads", Json::array())) {
    const Json part = workload.value("cost", Json::object());
    cost.load_ms += part.value("load_ms", 0.0);
    cost.prepare_ms += part.value("prepare_ms", 0.0);
    cost.check_ms += part.value("check_ms", 0.0);
    cost.time_ms += part.value("time_ms", 0.0);
  }
}

void join_workloads(task::Verdict& verdict) {
  verdict.kernelbench = {true, true, -1};
  verdict.flashinfer.status = "PASSED";
  std::vector<task::Speedup> speedups;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    if (task::severity(workload.outcome) > task::severity(verdict.outcome)) {
      verdict.outcome = workload.outcome;
      verdict.violation = workload.violation;
    }
    verdict.kernelbench.compiled = verdict.kernelbench.compiled && workload.kernelbench.compiled;
    verdict.kernelbench.correctness =
        verdict.kernelbench.correctness && workload.kernelbench.correctness;
    if (workload.flashinfer.status != "PASSED")
      verdict.flashinfer.status = workload.flashinfer.status;
    verdict.flashinfer.max_absolute_error =
        std::max(verdict.flashinfer.max_absolute_error, workload.flashinfer.max_absolute_error);
    verdict.flashinfer.max_relative_error =
        std::max(verdict.flashinfer.max_relative_error, workload.flashinfer.max_relative_error);
    if (workload.times && !verdict.times) verdict.times = workload.times;
    if (workload.speedup) speedups.push_back(*workload.speedup);
  }
  if (verdict.times) verdict.kernelbench.runtime_ms = verdict.times->candidate_ms;
  if (verdict.outcome == task::Outcome::kPassed && !speedups.empty())
    verdict.speedup = geometric_mean(speedups);
}

}  // namespace

Json evidence_header(const EvalRequest& request) {
  return {{"schema", kEvidenceSchema},
          {"gym_version", kGymVersion},
          {"request", request.hash()},
          {"target", request.options.target},
          {"options", to_json(request.options)},
          {"problem", {{"name", request.problem.name}, {"hash", request.problem.hash}}},
          {"candidate",
           {{"name", request.candidate.name},
            {"hash", request.candidate.hash},
            {"language", task::to_string(request.candidate.language)}}},
          {"tenant", request.tenant},
          {"trajectory", request.trajectory},
          {"turn", request.turn},
          {"workloads", Json::array()},
          {"cost", Json::object()}};
}

Result<task::Verdict> verdict_from_evidence(const Json& evidence) {
  task::Verdict verdict;
  KW_TRY(ObjectReader reader, ObjectReader::make(evidence, "evidence"));
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != kEvidenceSchema)
    return fail(ErrorCode::kUnsupported, "evidence.schema: {} is not {}", schema, kEvidenceSchema);
  KW_TRY(verdict.target, reader.string("target"));
  KW_TRY(const Json* problem, reader.get("problem"));
  KW_TRY(ObjectReader problem_reader, ObjectReader::make(*problem, "evidence.problem"));
  KW_TRY(verdict.problem_name, problem_reader.string("name"));
  KW_TRY(verdict.problem_hash, problem_reader.string("hash"));
  KW_TRY(const Json* candidate, reader.get("candidate"));
  KW_TRY(ObjectReader candidate_reader, ObjectReader::make(*candidate, "evidence.candidate"));
  KW_TRY(verdict.candidate_name, candidate_reader.string("name"));
  KW_TRY(verdict.candidate_hash, candidate_reader.string("hash"));
  KW_TRY(verdict.language, candidate_reader.string("language"));
  KW_TRY(const Json* options, reader.get("options"));
  KW_TRY(EvalOptions read_options, eval_options_from_json(*options, "evidence.options"));
  verdict.baseline = read_options.baseline;
  KW_TRY(const Json* workloads, reader.get("workloads"));
  if (!workloads->is_array())
    return fail(ErrorCode::kInvalidArgument, "evidence.workloads: expected a list");
  for (std::size_t i = 0; i < workloads->size(); ++i) {
    KW_TRY(auto workload,
           workload_verdict((*workloads)[i], fmt::format("evidence.workloads[{}]", i)));
    verdict.workloads.push_back(std::move(workload));
  }
  KW_TRY(std::string quarantined, reader.string_or("quarantined", ""));
  KW_TRY(std::string unsupported, reader.string_or("unsupported", ""));
  KW_TRY(std::string compile_error, reader.string_or("compile_error", ""));
  if (!verdict.workloads.empty()) join_workloads(verdict);
  if (!quarantined.empty()) {
    verdict.outcome = task::Outcome::kQuarantined;
    verdict.diagnostics.push_back(
        {"hint", "the problem gives no reward: " + printable(quarantined, kMaxDiagnostic)});
  } else if (!unsupported.empty()) {
    verdict.outcome = task::Outcome::kUnsupported;
    verdict.diagnostics.push_back({"hint", "not supported here: " + printable(unsupported, 200)});
  } else if (verdict.workloads.empty()) {
    return fail(ErrorCode::kInvalidArgument, "evidence.workloads: empty");
  }
  if (!compile_error.empty()) {
    verdict.kernelbench = {};
    verdict.flashinfer = {"COMPILE_ERROR", 0, 0};
    verdict.diagnostics.push_back({"compiler", printable(compile_error, kMaxDiagnostic)});
  }
  bool timed = std::any_of(verdict.workloads.begin(), verdict.workloads.end(),
                           [](const auto& w) { return w.times.has_value(); });
  KW_TRY(std::string level, reader.string_or("evidence_level", "untimed"));
  auto known = task::evidence_level_from_string(level);
  if (!known)
    return fail(ErrorCode::kInvalidArgument, "evidence.evidence_level: unknown level {}",
                printable(level, 40));
  verdict.evidence_level = timed ? task::EvidenceLevel::kTimed : *known;
  add_oracle(evidence, verdict);
  add_cost(evidence, verdict.cost);
  return verdict;
}

Result<std::filesystem::path> store_evidence(const std::filesystem::path& folder,
                                             const Json& evidence) {
  std::string body = canonical_json(evidence);
  std::string digest = sha256_hex(body);
  std::filesystem::path path = folder / digest.substr(0, 2) / (digest + ".json");
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return fail_errno(error.value(), "cannot make " + path.parent_path().string());
  KW_TRY_STATUS(
      os::write_file_atomic(path, Json{{"digest", digest}, {"evidence", evidence}}.dump()));
  return path;
}

Result<Json> load_evidence(const std::filesystem::path& path) {
  KW_TRY(std::string text, os::read_file(path, kMaxEvidence));
  auto bundle = parse_json(text);
  if (!bundle) return tl::unexpected(std::move(bundle).error().with_context(path.string()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*bundle, path.string()));
  KW_TRY(std::string digest, reader.string("digest"));
  KW_TRY(const Json* evidence, reader.get("evidence"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (sha256_hex(canonical_json(*evidence)) != digest)
    return fail(ErrorCode::kDataLoss, "{}: the evidence does not match its digest", path.string());
  return *evidence;
}

Result<task::Verdict> rejudge(const std::filesystem::path& path) {
  KW_TRY(Json evidence, load_evidence(path));
  KW_TRY(task::Verdict verdict, verdict_from_evidence(evidence));
  verdict.evidence = path.string();
  return verdict;
}

}  // namespace kw::gym
