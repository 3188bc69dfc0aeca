// Trace codec.
#include "task/trace.h"

#include <cmath>

#include "base/text.h"
#include "task/workload_json.h"
#include "text/enum_names.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr auto kStatuses = text::enum_names<TraceStatus>({
    {TraceStatus::kPassed, "PASSED"},
    {TraceStatus::kIncorrectShape, "INCORRECT_SHAPE"},
    {TraceStatus::kIncorrectNumerical, "INCORRECT_NUMERICAL"},
    {TraceStatus::kIncorrectDtype, "INCORRECT_DTYPE"},
    {TraceStatus::kRuntimeError, "RUNTIME_ERROR"},
    {TraceStatus::kCompileError, "COMPILE_ERROR"},
    {TraceStatus::kTimeout, "TIMEOUT"},
});

Json to_json(const Evaluation& evaluation) {
  Json libs = Json::object();
  for (const auto& [name, version] : evaluation.environment.libs) libs[name] = version;
  Json out = {
      {"status", to_string(evaluation.status)},
      {"environment", {{"hardware", evaluation.environment.hardware}, {"libs", std::move(libs)}}},
      {"timestamp", evaluation.timestamp},
      {"log", evaluation.log},
      {"correctness", nullptr},
      {"performance", nullptr}};
  if (const auto& c = evaluation.correctness) {
    out["correctness"] = {{"max_relative_error", c->max_relative_error},
                          {"max_absolute_error", c->max_absolute_error},
                          {"extra", c->extra}};
  }
  if (const auto& p = evaluation.performance) {
    out["performance"] = {{"latency_ms", p->latency_ms},
                          {"reference_latency_ms", p->reference_latency_ms},
                          {"speedup_factor", p->speedup_factor}};
  }
  return out;
}

Result<double> at_least_zero(ObjectReader& reader, std::string_view key) {
  KW_TRY(double value, reader.number_or(key, 0));
  if (value < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0, found {}", reader.path(key),
                value);
  return value;
}

Result<TraceEnvironment> environment_from_json(ObjectReader& parent) {
  KW_TRY(const Json* value, parent.get("environment"));
  KW_TRY(ObjectReader reader, ObjectReader::make(*value, parent.path("environment")));
  TraceEnvironment out;
  KW_TRY(out.hardware, reader.string("hardware"));
  if (out.hardware.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: empty", reader.path("hardware"));
  if (const Json* libs = reader.find("libs")) {
    KW_TRY(ObjectReader names, ObjectReader::make(*libs, reader.path("libs")));
    for (const auto& item : libs->items()) {
      KW_TRY(out.libs[item.key()], names.string(item.key()));
    }
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<TraceCorrectness> correctness_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  TraceCorrectness out;
  KW_TRY(out.max_relative_error, at_least_zero(reader, "max_relative_error"));
  KW_TRY(out.max_absolute_error, at_least_zero(reader, "max_absolute_error"));
  if (const Json* extra = reader.find("extra")) {
    if (!extra->is_object())
      return fail(ErrorCode::kInvalidArgument, "{}: expected an object or null",
                  reader.path("extra"));
    out.extra = *extra;
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<TracePerformance> performance_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  TracePerformance out;
  KW_TRY(out.latency_ms, at_least_zero(reader, "latency_ms"));
  KW_TRY(out.reference_latency_ms, at_least_zero(reader, "reference_latency_ms"));
  KW_TRY(out.speedup_factor, at_least_zero(reader, "speedup_factor"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

// Which parts a status demands and forbids.
Status check_parts(const Evaluation& evaluation, const ObjectReader& reader) {
  bool passed = evaluation.status == TraceStatus::kPassed;
  bool compared = passed || evaluation.status == TraceStatus::kIncorrectNumerical;
  auto check = [&](bool present, bool wanted, std::string_view key) -> Status {
    if (present == wanted) return {};
    return fail(ErrorCode::kInvalidArgument, "{}: {} with status {}", reader.path(key),
                wanted ? "required" : "must be null", to_string(evaluation.status));
  };
  KW_TRY_STATUS(check(evaluation.correctness.has_value(), compared, "correctness"));
  return check(evaluation.performance.has_value(), passed, "performance");
}

Result<Evaluation> evaluation_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Evaluation out;
  KW_TRY(std::string status, reader.string("status"));
  auto known = kStatuses.value(status);
  if (!known) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of {}{}", reader.path("status"),
                printable(status, 60), join(kStatuses.names(), ", "),
                text::suggestion(status, kStatuses.names()));
  }
  out.status = *known;
  KW_TRY(out.environment, environment_from_json(reader));
  KW_TRY(out.timestamp, reader.string("timestamp"));
  if (out.timestamp.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: empty", reader.path("timestamp"));
  KW_TRY(out.log, reader.string_or("log", ""));
  if (out.log.size() > Evaluation::kMaxLog) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} bytes, more than {}", reader.path("log"),
                out.log.size(), Evaluation::kMaxLog);
  }
  if (const Json* part = reader.find("correctness")) {
    KW_TRY(out.correctness, correctness_from_json(*part, reader.path("correctness")));
  }
  if (const Json* part = reader.find("performance")) {
    KW_TRY(out.performance, performance_from_json(*part, reader.path("performance")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check_parts(out, reader));
  return out;
}

}  // namespace

std::string_view to_string(TraceStatus status) {
  return kStatuses.name(status);
}

Json to_json(const Trace& trace) {
  return {{"definition", trace.definition},
          {"workload", to_json(trace.workload)},
          {"solution", trace.solution ? Json(*trace.solution) : Json(nullptr)},
          {"evaluation", trace.evaluation ? to_json(*trace.evaluation) : Json(nullptr)}};
}

Result<Trace> trace_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Trace out;
  KW_TRY(out.definition, reader.string("definition"));
  KW_TRY_STATUS(text::check_title(out.definition, reader.path("definition")));
  KW_TRY(const Json* workload, reader.get("workload"));
  KW_TRY(out.workload, workload_from_json(*workload, reader.path("workload")));
  if (reader.find("solution") != nullptr) {
    KW_TRY(out.solution, reader.string("solution"));
    KW_TRY_STATUS(text::check_title(*out.solution, reader.path("solution")));
  }
  if (const Json* evaluation = reader.find("evaluation")) {
    KW_TRY(out.evaluation, evaluation_from_json(*evaluation, reader.path("evaluation")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::task
