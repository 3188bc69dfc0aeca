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
constexpr double kLeastSample = 1e-3, kMostSample = 1e18;  // ns: ratios and sums stay finite
// Of eight process pairs: the interval takes memory quadratic in their number.
constexpr std::size_t kMostSamples = 8 * SequentialInterval::kMaxSamples;
constexpr double kMostCost = 1e15;  // ms

// The list under a key; an empty one when it is not there.
Result<const Json*> list_or_empty(ObjectReader& reader, std::string_view key) {
  static const Json kEmpty = Json::array();
  const Json* list = reader.find(key);
  if (list == nullptr) return &kEmpty;
  if (!list->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path(key));
  return list;
}

Result<ObjectReader> object_or_empty(ObjectReader& reader, std::string_view key) {
  static const Json kEmpty = Json::object();
  const Json* object = reader.find(key);
  return ObjectReader::make(object == nullptr ? kEmpty : *object, reader.path(key));
}

Result<std::vector<double>> milliseconds(ObjectReader& reader, std::string_view key) {
  std::vector<double> out;
  const Json* list = reader.find(key);
  if (list == nullptr) return out;
  if (!list->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
  if (list->size() > kMostSamples)
    return fail(ErrorCode::kInvalidArgument, "{}: {} samples, more than {}", reader.path(key),
                list->size(), kMostSamples);
  for (const Json& item : *list) {
    double sample = item.is_number() ? item.get<double>() : 0;
    if (!(sample >= kLeastSample && sample <= kMostSample)) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected nanoseconds, each from {} to {}",
                  reader.path(key), kLeastSample, kMostSample);
    }
    out.push_back(sample / 1e6);
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
  if (error.checked_calls < 0 || error.checked_calls > task::OutputError::kMaxCalls)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no number of calls",
                reader.path("checked_calls"), error.checked_calls);
  return error;
}

Status read_diagnostics(ObjectReader& reader, std::vector<task::Diagnostic>& out) {
  KW_TRY(const Json* list, list_or_empty(reader, "diagnostics"));
  for (const Json& item : *list) {
    KW_TRY(ObjectReader diagnostic, ObjectReader::make(item, reader.path("diagnostics")));
    KW_TRY(std::string kind, diagnostic.string_or("kind", "hint"));
    KW_TRY(std::string message, diagnostic.string_or("message", ""));
    out.push_back({std::move(kind), printable(message, kMaxDiagnostic)});
  }
  return {};
}

Status read_compat(ObjectReader& reader, task::WorkloadVerdict& verdict) {
  KW_TRY(ObjectReader kernelbench, object_or_empty(reader, "kernelbench"));
  KW_TRY(verdict.kernelbench.compiled, kernelbench.boolean_or("compiled", false));
  KW_TRY(verdict.kernelbench.correctness, kernelbench.boolean_or("correctness", false));
  KW_TRY(ObjectReader flashinfer, object_or_empty(reader, "flashinfer"));
  KW_TRY(verdict.flashinfer.status, flashinfer.string_or("status", ""));
  KW_TRY(verdict.flashinfer.max_absolute_error, flashinfer.number_or("max_absolute_error", 0));
  KW_TRY(verdict.flashinfer.max_relative_error, flashinfer.number_or("max_relative_error", 0));
  return {};
}

// How many of the samples are of each pair of processes, in their order.
Result<std::vector<std::size_t>> pair_samples(ObjectReader& reader, std::size_t samples) {
  KW_TRY(const Json* list, list_or_empty(reader, "pair_samples"));
  if (list->empty()) return std::vector<std::size_t>{samples};
  std::vector<std::size_t> out;
  std::size_t sum = 0;
  for (const Json& item : *list) {
    if (!item.is_number_unsigned() || item.get<std::size_t>() > samples - sum ||
        out.size() == kMostProcessPairs)
      break;
    out.push_back(item.get<std::size_t>());
    sum += out.back();
  }
  if (out.size() != list->size() || sum != samples)
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected at most {} counts that make {}, the number of samples",
                reader.path("pair_samples"), kMostProcessPairs, samples);
  return out;
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
  KW_TRY(auto pairs, pair_samples(reader, candidate.size()));
  auto report = interval_of_samples(candidate, reference, pairs);
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
  if ((verdict.outcome == task::Outcome::kViolation) == verdict.violation.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}.violation: a class with outcome violation only",
                where);
  }
  bool beyond_budget = false;
  KW_TRY(const Json* errors, list_or_empty(reader, "errors"));
  for (const Json& item : *errors) {
    KW_TRY(task::OutputError error, output_error(item, where + ".errors"));
    beyond_budget = beyond_budget || !(error.max_of_budget <= 1);
    verdict.errors.push_back(std::move(error));
  }
  // A recorded comparison beyond its budget can never be a pass, whatever else the bundle says.
  if (beyond_budget && verdict.outcome == task::Outcome::kPassed)
    verdict.outcome = task::Outcome::kWrongValue;
  KW_TRY_STATUS(read_compat(reader, verdict));
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
Status add_oracle(ObjectReader& evidence, task::Verdict& verdict) {
  KW_TRY(const Json* workloads, list_or_empty(evidence, "workloads"));
  for (const Json& workload : *workloads) {
    KW_TRY(ObjectReader reader, ObjectReader::make(workload, evidence.path("workloads")));
    KW_TRY(std::string oracle, reader.string_or("oracle", ""));
    if (oracle != "second_implementation") continue;
    verdict.diagnostics.push_back(
        {"oracle",
         "the reference does not run in float64: outputs were compared with two implementations of "
         "it at the declared precision"});
    return {};
  }
  return {};
}

Status add_cost(ObjectReader& evidence, task::Cost& cost) {
  auto add = [](ObjectReader& reader, std::string_view key, double& sum) -> Status {
    KW_TRY(double part, reader.number_or(key, 0));
    if (!(part >= 0 && part <= kMostCost))
      return fail(ErrorCode::kInvalidArgument, "{}: {} is not from 0 to {}", reader.path(key), part,
                  kMostCost);
    sum += part;
    return {};
  };
  KW_TRY(ObjectReader stages, object_or_empty(evidence, "cost"));
  KW_TRY_STATUS(add(stages, "compile_ms", cost.compile_ms));
  KW_TRY_STATUS(add(stages, "total_ms", cost.total_ms));
  KW_TRY(const Json* workloads, list_or_empty(evidence, "workloads"));
  for (const Json& workload : *workloads) {
    KW_TRY(ObjectReader reader, ObjectReader::make(workload, evidence.path("workloads")));
    KW_TRY(ObjectReader part, object_or_empty(reader, "cost"));
    KW_TRY_STATUS(add(part, "load_ms", cost.load_ms));
    KW_TRY_STATUS(add(part, "prepare_ms", cost.prepare_ms));
    KW_TRY_STATUS(add(part, "check_ms", cost.check_ms));
    KW_TRY_STATUS(add(part, "time_ms", cost.time_ms));
  }
  return {};
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
    verdict.violation.clear();
    verdict.diagnostics.push_back(
        {"hint", "the problem gives no reward: " + printable(quarantined, kMaxDiagnostic)});
  } else if (!unsupported.empty()) {
    verdict.outcome = task::Outcome::kUnsupported;
    verdict.violation.clear();
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
  KW_TRY_STATUS(add_oracle(reader, verdict));
  KW_TRY_STATUS(add_cost(reader, verdict.cost));
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
