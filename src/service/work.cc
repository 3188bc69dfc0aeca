#include "service/work.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/settings_json.h"
#include "base/text.h"
#include "gym/messages/problem_check_json.h"
#include "gym/version.h"

namespace kw::service {
namespace {

constexpr std::array<const char*, 5> kAnswers = {"verdict", "check", "graph", "signature",
                                                 "capabilities"};
static_assert(std::variant_size_v<WorkAnswer> == kAnswers.size());

template <typename Request>
Result<Json> with_problem(std::string_view kind, const Request& request) {
  KW_TRY(const task::PortableProblem problem, task::portable_problem(request.problem));
  return Json{
      {"kind", kind}, {"target", to_string(request.target)}, {"problem", task::to_json(problem)}};
}

template <typename Request>
void put_limits(Json& out, const Request& request) {
  out["timeout_seconds"] = request.timeout_seconds;
  out["memory_bytes"] = request.memory_bytes;
}

struct Writer {
  Result<Json> operator()(const gym::EvalRequest& request) const { return gym::to_json(request); }
  Result<Json> operator()(const gym::CheckRequest& request) const {
    KW_TRY(Json out, with_problem("check", request));
    put_limits(out, request);
    return out;
  }
  Result<Json> operator()(const gym::TraceRequest& request) const {
    KW_TRY(Json out, with_problem("trace", request));
    put_limits(out, request);
    out["workload"] = request.workload;
    return out;
  }
  Result<Json> operator()(const DescribeRequest& request) const {
    return with_problem("describe", request);
  }
  Result<Json> operator()(const CapabilitiesRequest& request) const {
    return Json{{"kind", "capabilities"}, {"target", to_string(request.target)}};
  }
};

template <typename Request>
Status read_target_and_problem(ObjectReader& reader, Request& out,
                               const task::ProblemReader& read_problem) {
  KW_TRY_STATUS(read_setting(reader, "target", out.target));
  KW_TRY(const Json* problem, reader.get("problem"));
  KW_TRY(out.problem, read_problem(*problem, reader.path("problem")));
  return {};
}

template <typename Request>
Status read_limits(ObjectReader& reader, Request& out) {
  KW_TRY_STATUS(read_setting(reader, "timeout_seconds", out.timeout_seconds));
  if (!(out.timeout_seconds >= 0 && out.timeout_seconds <= gym::kMaxEvalSeconds))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 0 to {}",
                reader.path("timeout_seconds"), out.timeout_seconds, gym::kMaxEvalSeconds);
  return read_setting(reader, "memory_bytes", out.memory_bytes);
}

Status read(ObjectReader& reader, gym::CheckRequest& out, const task::ProblemReader& read_problem) {
  KW_TRY_STATUS(read_target_and_problem(reader, out, read_problem));
  return read_limits(reader, out);
}
Status read(ObjectReader& reader, gym::TraceRequest& out, const task::ProblemReader& read_problem) {
  KW_TRY_STATUS(read_target_and_problem(reader, out, read_problem));
  KW_TRY_STATUS(read_limits(reader, out));
  return read_setting(reader, "workload", out.workload);
}
Status read(ObjectReader& reader, DescribeRequest& out, const task::ProblemReader& read_problem) {
  return read_target_and_problem(reader, out, read_problem);
}
Status read(ObjectReader& reader, CapabilitiesRequest& out, const task::ProblemReader&) {
  return read_setting(reader, "target", out.target);
}

template <typename Request>
Result<Work> all_of(ObjectReader reader, const task::ProblemReader& read_problem) {
  Request out;
  KW_TRY_STATUS(read(reader, out, read_problem));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

struct AnswerWriter {
  Json operator()(const task::Verdict& verdict) const { return task::to_json(verdict); }
  Json operator()(const gym::ProblemCheck& check) const { return gym::to_json(check); }
  Json operator()(const TracedText& traced) const { return traced.graph; }
  Json operator()(const task::Signature& signature) const { return task::to_json(signature); }
  Json operator()(const gym::Capabilities& found) const { return gym::to_json(found); }
};

Status check_version(const task::Verdict& verdict, const std::string& where) {
  const int version = verdict.made_with.gym_version;
  if (version == gym::kGymVersion) return {};
  return fail(ErrorCode::kUnsupported,
              "{}.made_with.gym_version: {}, where this program's is {}: verdicts of two versions "
              "are never mixed",
              where, version == 0 ? "missing" : fmt::format("{}", version), gym::kGymVersion);
}

Result<WorkAnswer> answer_of(std::size_t kind, const Json& value, const std::string& where) {
  switch (kind) {
    case 0: {
      KW_TRY(task::Verdict verdict, task::verdict_from_json(value, where));
      if (verdict.made_with.gym_version != 0) KW_TRY_STATUS(check_version(verdict, where));
      return verdict;
    }
    case 1:
      return gym::problem_check_from_json(value, where);
    case 2:
      if (!value.is_string())
        return fail(ErrorCode::kInvalidArgument, "{}: expected a text", where);
      return TracedText{value.get<std::string>()};
    case 3:
      return task::signature_from_json(value, where);
    default:
      return gym::capabilities_from_json(value, where);
  }
}

AnswerSummary summary_of(const WorkAnswer& answer) {
  constexpr std::size_t kMaxWordBytes = 100;
  const auto* verdict = std::get_if<task::Verdict>(&answer);
  if (verdict == nullptr) return {.outcome = kAnswers[answer.index()]};
  return {.outcome = std::string(to_string(verdict->outcome)),
          .problem = printable(verdict->problem_name, kMaxWordBytes),
          .candidate = printable(verdict->candidate_name, kMaxWordBytes),
          .language = printable(verdict->language, kMaxWordBytes),
          .target = std::string(to_string(verdict->target)),
          .speedup = verdict->speedup ? verdict->speedup->median : 0};
}

// Its place in kAnswers.
Result<std::size_t> kind_of_answer(ObjectReader& reader) {
  std::optional<std::size_t> kind;
  for (std::size_t i = 0; i < kAnswers.size(); ++i) {
    if (reader.find(kAnswers[i]) == nullptr) continue;
    if (kind)
      return fail(ErrorCode::kInvalidArgument, "{}: an answer has either this or {}",
                  reader.path(kAnswers[i]), kAnswers[*kind]);
    kind = i;
  }
  if (!kind) return fail(ErrorCode::kInvalidArgument, "{}: missing", reader.path("verdict"));
  return *kind;
}

// The value that a reference stands for is known by its hash alone.
template <typename T>
Result<T> whole_or_hash(const Json& value, const std::string& where,
                        Result<T> (*read)(const Json&, const std::string&)) {
  auto hash = hash_in_reference(value);
  if (!hash) return read(value, where);
  if (hash->size() != 64 || hash->find_first_not_of("0123456789abcdef") != hash->npos)
    return fail(ErrorCode::kInvalidArgument, "{}.hash: expected 64 hexadecimal digits", where);
  T out;
  out.hash = std::move(*hash);
  return out;
}

}  // namespace

Result<Json> to_json(const Work& work) {
  return std::visit(Writer{}, work);
}

Result<Work> work_from_json(const Json& value, const std::string& where,
                            const WorkReaders& readers) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  if (!reader.has("kind"))
    return gym::eval_request_from_json(value, where, readers.problem, readers.baseline);
  KW_TRY(const std::string kind, reader.string("kind"));
  if (kind == "check") return all_of<gym::CheckRequest>(std::move(reader), readers.problem);
  if (kind == "trace") return all_of<gym::TraceRequest>(std::move(reader), readers.problem);
  if (kind == "describe") return all_of<DescribeRequest>(std::move(reader), readers.problem);
  if (kind == "capabilities")
    return all_of<CapabilitiesRequest>(std::move(reader), readers.problem);
  return fail(ErrorCode::kInvalidArgument,
              "{}: unknown \"{}\"; there are check, trace, describe, capabilities, and a judgement "
              "has none",
              reader.path("kind"), printable(kind, 40));
}

Json reference_to(const std::string& hash) {
  return {{"hash", hash}};
}

std::optional<std::string> hash_in_reference(const Json& value) {
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const auto hash = value.find("hash");
  if (hash == value.end() || !hash->is_string()) return std::nullopt;
  return hash->get<std::string>();
}

// Most requests have none, and are not parsed for it.
std::string baseline_in(const std::string& request) {
  if (request.find(R"("baseline":{)") == std::string::npos) return {};
  const auto json = parse_json(request);
  if (!json) return {};
  return hash_in_reference(json->value("/options/baseline"_json_pointer, Json())).value_or("");
}

WorkParts take_parts(const Work& work, Json& json) {
  const auto take = [](std::string hash, Json& at) {
    WorkPart out{.hash = std::move(hash)};
    if (!hash_in_reference(at)) out.whole = std::exchange(at, reference_to(out.hash));
    return out;
  };
  WorkParts out;
  if (std::string hash = problem_of(work); !hash.empty())
    out.problem = take(std::move(hash), json["problem"]);
  const auto* judgement = std::get_if<gym::EvalRequest>(&work);
  if (judgement == nullptr) return out;
  if (const auto* baseline = std::get_if<task::Candidate>(&judgement->options.baseline))
    out.baseline = take(baseline->hash, json["options"]["baseline"]);
  return out;
}

Result<AskedWork> asked_work_from_json(Json value, const std::string& where) {
  const WorkReaders readers{.problem =
                                [](const Json& each, const std::string& at) {
                                  return whole_or_hash(each, at, task::problem_from_json);
                                },
                            .baseline =
                                [](const Json& each, const std::string& at) {
                                  return whole_or_hash(each, at,
                                                       task::portable_candidate_from_json);
                                }};
  KW_TRY(Work work, work_from_json(value, where, readers));
  AskedWork out{.work = std::move(work), .json = std::move(value), .key = {}, .parts = {}};
  out.parts = take_parts(out.work, out.json);
  const auto* judgement = std::get_if<gym::EvalRequest>(&out.work);
  out.key =
      judgement != nullptr
          ? judgement->hash()
          : sha256_hex(canonical_json({{"request", out.json}, {"gym_version", gym::kGymVersion}}));
  return out;
}

Needs needs_of(const Work& work) {
  Needs out;
  if (const auto* judgement = std::get_if<gym::EvalRequest>(&work)) {
    const task::Target target = judgement->options.target;
    const task::Language language = judgement->candidate.language;
    out.target = to_string(target);
    // Work that is judged nowhere is refused by any worker of the target, which says why.
    if (task::route(language, target)) out.language = to_string(language);
    return out;
  }
  std::visit(
      [&](const auto& request) {
        if constexpr (requires { request.target; }) out.target = to_string(request.target);
      },
      work);
  return out;
}

std::string problem_of(const Work& work) {
  return std::visit(
      [](const auto& request) -> std::string {
        if constexpr (requires { request.problem; }) return request.problem.hash;
        return {};
      },
      work);
}

Json to_json(const WorkAnswer& answer) {
  return {{kAnswers[answer.index()], std::visit(AnswerWriter{}, answer)}};
}

Result<WorkAnswer> read_answer(ObjectReader& reader) {
  KW_TRY(const std::size_t kind, kind_of_answer(reader));
  return answer_of(kind, *reader.find(kAnswers[kind]), reader.path(kAnswers[kind]));
}

Result<AnswerText> answer_text(ObjectReader& reader) {
  KW_TRY(const std::size_t kind, kind_of_answer(reader));
  const Json& value = *reader.find(kAnswers[kind]);
  const std::string where = reader.path(kAnswers[kind]);
  KW_TRY(const WorkAnswer answer, answer_of(kind, value, where));
  if (const auto* verdict = std::get_if<task::Verdict>(&answer))
    KW_TRY_STATUS(check_version(*verdict, where));
  return AnswerText{.text = fmt::format(R"({{"{}":{}}})", kAnswers[kind], value.dump()),
                    .summary = summary_of(answer)};
}

}  // namespace kw::service
