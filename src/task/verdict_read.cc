// Verdicts from JSON, schema 1: docs/formats/verdict.md.
#include <cmath>
#include <limits>

#include "base/text.h"
#include "task/verdict.h"

namespace kw::task {
namespace {

// The writer's "inf", "-inf" and "nan" beside plain numbers.
Result<double> number_from(ObjectReader& reader, std::string_view key, double fallback) {
  const Json* value = reader.find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) {
    auto text = value->get<std::string>();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf" || text == "-inf")
      return (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  }
  return reader.number(key);
}

// Reads the object under key, when it is there, through read(reader).
template <typename Read>
Status within(ObjectReader& reader, std::string_view key, Read read) {
  const Json* value = reader.find(key);
  if (value == nullptr) return {};
  KW_TRY(ObjectReader object, ObjectReader::make(*value, reader.path(key)));
  KW_TRY_STATUS(read(object));
  return object.no_other_keys();
}

template <typename T, typename Read>
Status optional_within(ObjectReader& reader, std::string_view key, std::optional<T>& out,
                       Read read) {
  if (reader.find(key) == nullptr) return {};
  return within(reader, key, [&](ObjectReader& object) -> Status {
    KW_TRY(out, read(object));
    return {};
  });
}

template <typename T, typename Read>
Status list_from(ObjectReader& reader, std::string_view key, std::vector<T>& out, Read read) {
  KW_TRY(const Json* value, reader.get(key));
  if (!value->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path(key));
  for (const Json& item : *value) {
    KW_TRY(ObjectReader object,
           ObjectReader::make(item, fmt::format("{}[{}]", reader.path(key), out.size())));
    KW_TRY(T element, read(object));
    KW_TRY_STATUS(object.no_other_keys());
    out.push_back(std::move(element));
  }
  return {};
}

Result<OutputError> error_from(ObjectReader& reader) {
  OutputError out;
  KW_TRY(out.output, reader.string("output"));
  KW_TRY(out.max_absolute, number_from(reader, "max_absolute", 0));
  KW_TRY(out.max_relative, number_from(reader, "max_relative", 0));
  KW_TRY(out.max_of_budget, number_from(reader, "max_of_budget", 0));
  KW_TRY(out.checked_calls, reader.integer_or("checked_calls", 0));
  if (out.checked_calls < 0 || out.checked_calls > OutputError::kMaxCalls) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no number of calls",
                reader.path("checked_calls"), out.checked_calls);
  }
  return out;
}

Result<Diagnostic> diagnostic_from(ObjectReader& reader) {
  Diagnostic out;
  KW_TRY(out.kind, reader.string("kind"));
  KW_TRY(out.message, reader.string("message"));
  return out;
}

Result<HardInputs> hard_inputs_from(ObjectReader& reader) {
  HardInputs out;
  KW_TRY(out.inputs, reader.string("inputs"));
  KW_TRY(out.calls, reader.integer("calls"));
  KW_TRY(out.left_out, reader.string_or("left_out", ""));
  if (out.calls < 0 || out.calls > OutputError::kMaxCalls) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no number of calls", reader.path("calls"),
                out.calls);
  }
  return out;
}

Result<std::vector<double>> numbers_from(ObjectReader& reader, std::string_view key) {
  KW_TRY(const Json* value, reader.get(key));
  std::vector<double> out;
  if (!value->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
  for (const Json& item : *value) {
    if (!item.is_number())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list of numbers", reader.path(key));
    out.push_back(item.get<double>());
  }
  return out;
}

Result<Borderline> borderline_from(ObjectReader& reader) {
  Borderline out;
  KW_TRY(out.largest, number_from(reader, "largest", 0));
  KW_TRY(out.further, numbers_from(reader, "further"));
  return out;
}

Result<Times> times_from(ObjectReader& reader) {
  Times out;
  KW_TRY(out.candidate_ms, reader.number("candidate_ms"));
  KW_TRY(out.reference_ms, reader.number("reference_ms"));
  KW_TRY_STATUS(within(reader, "samples", [&](ObjectReader& samples) -> Status {
    KW_TRY(out.candidate_samples_ms, numbers_from(samples, "candidate_ms"));
    KW_TRY(out.reference_samples_ms, numbers_from(samples, "reference_ms"));
    return {};
  }));
  return out;
}

Result<Speedup> speedup_from(ObjectReader& reader) {
  Speedup out;
  KW_TRY(out.median, reader.number("median"));
  KW_TRY(out.low, reader.number("low"));
  KW_TRY(out.high, reader.number("high"));
  return out;
}

// Verdicts of versions before 9 have no such key.
Status clock_from(ObjectReader& reader, std::optional<Clock>& out) {
  KW_TRY(std::string name, reader.string_or("clock", ""));
  if (name.empty()) return {};
  out = clock_from_string(name);
  if (out) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no clock", reader.path("clock"),
              printable(name, 60));
}

Result<Coverage> coverage_from(ObjectReader& reader) {
  Coverage out;
  KW_TRY(out.time, reader.number("time"));
  KW_TRY(out.count, reader.number("count"));
  return out;
}

Result<Rival> rival_from(ObjectReader& reader) {
  Rival out;
  KW_TRY(out.baseline, reader.string("baseline"));
  KW_TRY_STATUS(optional_within(reader, "over_baseline", out.over_baseline, speedup_from));
  KW_TRY(out.failure, reader.string_or("failure", ""));
  return out;
}

Result<Strongest> strongest_from(ObjectReader& reader) {
  Strongest out;
  KW_TRY(out.baseline, reader.string("baseline"));
  KW_TRY_STATUS(within(reader, "speedup", [&](ObjectReader& object) -> Status {
    KW_TRY(out.speedup, speedup_from(object));
    return {};
  }));
  return out;
}

Status compat_from(ObjectReader& reader, CompatKernelBench& kernelbench,
                   CompatFlashInfer& flashinfer) {
  return within(reader, "compat", [&](ObjectReader& compat) -> Status {
    KW_TRY_STATUS(within(compat, "kernelbench", [&](ObjectReader& object) -> Status {
      KW_TRY(kernelbench.compiled, object.boolean("compiled"));
      KW_TRY(kernelbench.correctness, object.boolean("correctness"));
      KW_TRY(kernelbench.runtime_ms, object.number("runtime"));
      return {};
    }));
    return within(compat, "flashinfer", [&](ObjectReader& object) -> Status {
      KW_TRY(flashinfer.status, object.string("status"));
      KW_TRY(flashinfer.max_relative_error, number_from(object, "max_relative_error", 0));
      KW_TRY(flashinfer.max_absolute_error, number_from(object, "max_absolute_error", 0));
      return {};
    });
  });
}

// outcome and violation, which stand or fall together.
Status outcome_from(ObjectReader& reader, Outcome& outcome, std::string& violation) {
  KW_TRY(std::string name, reader.string("outcome"));
  auto known = outcome_from_string(name);
  if (!known) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no outcome", reader.path("outcome"),
                printable(name, 60));
  }
  outcome = *known;
  KW_TRY(violation, reader.string_or("violation", ""));
  if ((outcome == Outcome::kViolation) == violation.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: a class with outcome violation, null with every other",
                reader.path("violation"));
  }
  return {};
}

Result<WorkloadVerdict> workload_from(ObjectReader& reader) {
  WorkloadVerdict out;
  KW_TRY(out.uuid, reader.string("uuid"));
  KW_TRY_STATUS(outcome_from(reader, out.outcome, out.violation));
  KW_TRY_STATUS(compat_from(reader, out.kernelbench, out.flashinfer));
  KW_TRY_STATUS(list_from(reader, "errors", out.errors, error_from));
  if (reader.find("borderline") != nullptr)
    KW_TRY_STATUS(optional_within(reader, "borderline", out.borderline, borderline_from));
  KW_TRY_STATUS(optional_within(reader, "times", out.times, times_from));
  KW_TRY_STATUS(clock_from(reader, out.clock));
  KW_TRY_STATUS(optional_within(reader, "speedup", out.speedup, speedup_from));
  // Verdicts of versions before 8 have no such list.
  if (reader.find("hard_inputs") != nullptr)
    KW_TRY_STATUS(list_from(reader, "hard_inputs", out.hard_inputs, hard_inputs_from));
  if (reader.find("rivals") != nullptr)
    KW_TRY_STATUS(list_from(reader, "rivals", out.rivals, rival_from));
  KW_TRY_STATUS(optional_within(reader, "strongest", out.strongest, strongest_from));
  if (reader.find("gpu") != nullptr)
    KW_TRY_STATUS(optional_within(reader, "gpu", out.gpu, gpu_facts_from));
  KW_TRY_STATUS(list_from(reader, "diagnostics", out.diagnostics, diagnostic_from));
  return out;
}

Status names_from(ObjectReader& reader, Verdict& out) {
  KW_TRY_STATUS(within(reader, "problem", [&](ObjectReader& object) -> Status {
    KW_TRY(out.problem_name, object.string("name"));
    KW_TRY(out.problem_hash, object.string("hash"));
    return {};
  }));
  return within(reader, "candidate", [&](ObjectReader& object) -> Status {
    KW_TRY(out.candidate_name, object.string("name"));
    KW_TRY(out.candidate_hash, object.string("hash"));
    KW_TRY(out.language, object.string("language"));
    return {};
  });
}

Status cost_from(ObjectReader& reader, Cost& cost) {
  return within(reader, "cost", [&](ObjectReader& object) -> Status {
    KW_TRY(cost.compile_ms, object.number_or("compile_ms", 0));
    KW_TRY(cost.load_ms, object.number_or("load_ms", 0));
    KW_TRY(cost.prepare_ms, object.number_or("prepare_ms", 0));
    KW_TRY(cost.check_ms, object.number_or("check_ms", 0));
    KW_TRY(cost.time_ms, object.number_or("time_ms", 0));
    KW_TRY(cost.total_ms, object.number_or("total_ms", 0));
    return {};
  });
}

}  // namespace

Result<MadeWith> made_with_from_json(const Json& value, const std::string& where) {
  MadeWith out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const std::int64_t version, reader.integer_or("gym_version", 0));
  if (version < 0 || version > std::numeric_limits<int>::max())
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no version", reader.path("gym_version"),
                version);
  out.gym_version = static_cast<int>(version);
  KW_TRY(out.compiler, reader.string_or("compiler", ""));
  KW_TRY(out.device_compiler, reader.string_or("device_compiler", ""));
  KW_TRY(out.torch, reader.string_or("torch", ""));
  KW_TRY(out.triton, reader.string_or("triton", ""));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<Verdict> verdict_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Verdict out;
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != Verdict::kSchema) {
    return fail(ErrorCode::kInvalidArgument, "{}: this program reads schema {}, found {}",
                reader.path("schema"), Verdict::kSchema, schema);
  }
  KW_TRY(const std::string target, reader.string("target"));
  auto known_target = parse_target(target);
  if (!known_target)
    return tl::unexpected(std::move(known_target).error().with_context(reader.path("target")));
  out.target = *known_target;
  KW_TRY(std::string level, reader.string("evidence_level"));
  auto known = evidence_level_from_string(level);
  if (!known) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no evidence level",
                reader.path("evidence_level"), printable(level, 60));
  }
  out.evidence_level = *known;
  for (std::string_view key : {"problem", "candidate", "compat", "cost", "errors"})
    KW_TRY_STATUS(reader.get(key).map([](auto) {}));
  KW_TRY_STATUS(names_from(reader, out));
  KW_TRY_STATUS(outcome_from(reader, out.outcome, out.violation));
  KW_TRY_STATUS(compat_from(reader, out.kernelbench, out.flashinfer));
  KW_TRY_STATUS(optional_within(reader, "times", out.times, times_from));
  KW_TRY_STATUS(clock_from(reader, out.clock));
  KW_TRY_STATUS(optional_within(reader, "speedup", out.speedup, speedup_from));
  KW_TRY_STATUS(optional_within(reader, "strongest", out.strongest, strongest_from));
  KW_TRY_STATUS(optional_within(reader, "coverage", out.coverage, coverage_from));
  KW_TRY(out.baseline, reader.string_or("baseline", out.baseline));
  KW_TRY_STATUS(list_from(reader, "workloads", out.workloads, workload_from));
  KW_TRY_STATUS(cost_from(reader, out.cost));
  KW_TRY_STATUS(list_from(reader, "diagnostics", out.diagnostics, diagnostic_from));
  KW_TRY(out.evidence, reader.string_or("evidence", ""));
  if (const Json* made_with = reader.find("made_with")) {
    KW_TRY(out.made_with, made_with_from_json(*made_with, reader.path("made_with")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::task
