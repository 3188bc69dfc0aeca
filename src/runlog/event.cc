// Events to JSON and back.
#include "runlog/event.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/error_names.h"
#include "base/text.h"
#include "text/enum_names.h"

namespace kw::runlog {
namespace {

constexpr auto kEnds = text::enum_names<End>({{End::kAttempts, "attempts"},
                                              {End::kFirstCorrect, "first_correct"},
                                              {End::kTarget, "target"},
                                              {End::kTokens, "tokens"},
                                              {End::kSeconds, "seconds"},
                                              {End::kCost, "cost"},
                                              {End::kExhausted, "exhausted"},
                                              {End::kQuarantined, "quarantined"},
                                              {End::kUnsupported, "unsupported"},
                                              {End::kFailed, "failed"}});

constexpr std::string_view kStarted = "run_started", kResumed = "run_resumed",
                           kProblem = "problem_started", kDecided = "decided",
                           kAnswered = "answered", kExtracted = "extracted", kJudged = "judged",
                           kFailed = "failed", kProblemEnded = "problem_ended",
                           kEnded = "run_ended";

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json body_to_json(const RunStarted& e) {
  Json problems = Json::array();
  for (const auto& problem : e.problems)
    problems.push_back({{"key", problem.key}, {"name", problem.name}, {"hash", problem.hash}});
  Json unread = Json::array();
  for (const auto& one : e.unread) unread.push_back({{"name", one.name}, {"message", one.message}});
  return {{"type", kStarted},
          {"schema", kSchema},
          {"version", e.version},
          {"gym_version", e.gym_version},
          {"at", e.at},
          {"command", e.command},
          {"settings", e.settings},
          {"problems", problems},
          {"hardware", e.hardware},
          {"unread", unread}};
}
Json body_to_json(const RunResumed& e) {
  return {{"type", kResumed}, {"version", e.version}, {"at", e.at}, {"hardware", e.hardware}};
}
Json body_to_json(const ProblemStarted& e) {
  return {{"type", kProblem}, {"problem", e.problem}};
}
Json body_to_json(const Decided& e) {
  return {{"type", kDecided},     {"problem", e.problem},
          {"attempt", e.attempt}, {"visible", e.visible},
          {"parent", e.parent},   {"draw", optional(e.draw)},
          {"seed", e.seed},       {"template", e.prompt_template},
          {"prompt", e.prompt}};
}
Json body_to_json(const Answered& e) {
  return {{"type", kAnswered},
          {"problem", e.problem},
          {"attempt", e.attempt},
          {"by", e.by},
          {"label", e.label},
          {"answer", e.answer},
          {"finish", to_string(e.finish)},
          {"prompt_tokens", e.usage.prompt_tokens},
          {"completion_tokens", e.usage.completion_tokens},
          {"cost_usd", e.usage.cost_usd},
          {"estimated", e.usage.estimated},
          {"wall_ms", e.wall_ms},
          {"reasoning", e.reasoning},
          {"suspicion", e.suspicion}};
}
Json body_to_json(const Extracted& e) {
  return {{"type", kExtracted},
          {"problem", e.problem},
          {"attempt", e.attempt},
          {"candidate", e.candidate},
          {"candidate_hash", e.candidate_hash},
          {"why_not", e.why_not}};
}
Json body_to_json(const Judged& e) {
  Json speedup;
  if (e.speedup)
    speedup = {{"median", e.speedup->median}, {"low", e.speedup->low}, {"high", e.speedup->high}};
  return {{"type", kJudged},
          {"problem", e.problem},
          {"attempt", e.attempt},
          {"outcome", task::to_string(e.outcome)},
          {"violation", e.violation},
          {"progress", to_string(e.progress)},
          {"error", optional(e.error)},
          {"speedup", speedup},
          {"verdict", e.verdict},
          {"same_as", e.same_as},
          {"wall_ms", e.wall_ms}};
}
Json body_to_json(const Failed& e) {
  return {{"type", kFailed},
          {"problem", e.problem},
          {"attempt", e.attempt},
          {"stage", e.stage},
          {"number", e.number},
          {"code", kw::to_string(e.code)},
          {"message", e.message},
          {"again", e.again},
          {"kind", e.kind},
          {"prompt_tokens", e.usage.prompt_tokens},
          {"completion_tokens", e.usage.completion_tokens},
          {"cost_usd", e.usage.cost_usd},
          {"estimated", e.usage.estimated}};
}
Json body_to_json(const ProblemEnded& e) {
  return {{"type", kProblemEnded}, {"problem", e.problem}, {"end", to_string(e.end)},
          {"reason", e.reason},    {"best", e.best},       {"wall_s", e.wall_s}};
}
Json body_to_json(const RunEnded&) {
  return {{"type", kEnded}};
}

template <typename T>
Result<T> in_range(Result<std::int64_t> value, const std::string& where, std::int64_t low) {
  if (!value) return tl::unexpected(std::move(value).error());
  if (*value < low || *value > std::numeric_limits<T>::max())
    return fail(ErrorCode::kInvalidArgument, "{}: {} is out of range", where, *value);
  return static_cast<T>(*value);
}

Result<int> attempt_number(ObjectReader& r, std::string_view key, int low) {
  return in_range<int>(r.integer(key), r.path(key), low);
}

Result<double> amount(ObjectReader& r, std::string_view key) {
  KW_TRY(double value, r.number(key));
  if (!(value >= 0) || !std::isfinite(value))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is out of range", r.path(key), value);
  return value;
}

Result<std::optional<double>> optional_number(ObjectReader& r, std::string_view key) {
  if (r.find(key) == nullptr) return std::optional<double>();
  KW_TRY(double value, r.number(key));
  return std::optional<double>(value);
}

template <typename Enum, typename Names>
Result<Enum> named(ObjectReader& r, std::string_view key, const Names& names) {
  KW_TRY(std::string word, r.string(key));
  std::optional<Enum> value = names(word);
  if (value) return *value;
  return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", r.path(key), printable(word, 40));
}

// Logs of before have none.
Result<std::vector<RunStarted::Unread>> unread_of(ObjectReader& r) {
  std::vector<RunStarted::Unread> out;
  const Json* list = r.find("unread");
  if (list == nullptr) return out;
  if (!list->is_array()) return fail(ErrorCode::kInvalidArgument, "unread: expected an array");
  for (const Json& entry : *list) {
    KW_TRY(ObjectReader u, ObjectReader::make(entry, "unread"));
    RunStarted::Unread one;
    KW_TRY(one.name, u.string("name"));
    KW_TRY(one.message, u.string("message"));
    out.push_back(std::move(one));
  }
  return out;
}

Result<EventBody> run_started(ObjectReader& r) {
  RunStarted out;
  KW_TRY(std::int64_t schema, r.integer("schema"));
  if (schema != kSchema)
    return fail(ErrorCode::kUnsupported, "schema {} was written by another version of this program",
                schema);
  KW_TRY(out.version, r.string("version"));
  KW_TRY(out.gym_version, r.integer("gym_version"));
  KW_TRY(out.at, r.string("at"));
  KW_TRY(out.command, r.string("command"));
  KW_TRY(const Json* settings, r.get("settings"));
  out.settings = *settings;
  KW_TRY(const Json* problems, r.get("problems"));
  if (!problems->is_array())
    return fail(ErrorCode::kInvalidArgument, "problems: expected an array");
  for (const Json& entry : *problems) {
    KW_TRY(ObjectReader p, ObjectReader::make(entry, "problems"));
    RunStarted::Problem problem;
    KW_TRY(problem.key, p.string("key"));
    KW_TRY(problem.name, p.string("name"));
    KW_TRY(problem.hash, p.string("hash"));
    out.problems.push_back(std::move(problem));
  }
  KW_TRY(out.hardware, r.string_or("hardware", ""));
  KW_TRY(out.unread, unread_of(r));
  return EventBody(std::move(out));
}
Result<EventBody> run_resumed(ObjectReader& r) {
  RunResumed out;
  KW_TRY(out.version, r.string("version"));
  KW_TRY(out.at, r.string("at"));
  KW_TRY(out.hardware, r.string_or("hardware", ""));
  return EventBody(std::move(out));
}
Result<EventBody> problem_started(ObjectReader& r) {
  ProblemStarted out;
  KW_TRY(out.problem, r.string("problem"));
  return EventBody(std::move(out));
}
Result<EventBody> decided(ObjectReader& r) {
  Decided out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.attempt, attempt_number(r, "attempt", 0));
  KW_TRY(out.visible, attempt_number(r, "visible", 0));
  KW_TRY(out.parent, attempt_number(r, "parent", kReferenceParent));
  KW_TRY(out.draw, optional_number(r, "draw"));
  KW_TRY(std::int64_t seed, r.integer("seed"));
  if (seed < 0) return fail(ErrorCode::kInvalidArgument, "seed: negative");
  out.seed = static_cast<std::uint64_t>(seed);
  KW_TRY(out.prompt_template, r.string("template"));
  KW_TRY(out.prompt, r.string("prompt"));
  return EventBody(std::move(out));
}
Result<text::Usage> usage(ObjectReader& r) {
  text::Usage out;
  KW_TRY(out.prompt_tokens, in_range<std::int64_t>(r.integer("prompt_tokens"), "prompt_tokens", 0));
  KW_TRY(out.completion_tokens,
         in_range<std::int64_t>(r.integer("completion_tokens"), "completion_tokens", 0));
  KW_TRY(out.cost_usd, amount(r, "cost_usd"));
  KW_TRY(out.estimated, r.boolean_or("estimated", false));
  return out;
}

bool is_suspicion_of_before(std::string_view label) {
  return label == "empty" || label == "prompt_echo" || label == "template_tokens";
}

// A cancelled answer is recorded by no event.
std::optional<text::Finish> finish_of_answer(std::string_view name) {
  const std::optional<text::Finish> out = text::finish_from_string(name);
  return out == text::Finish::kCancelled ? std::nullopt : out;
}

Result<EventBody> answered(ObjectReader& r) {
  Answered out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.attempt, attempt_number(r, "attempt", 0));
  KW_TRY(out.by, r.string("by"));
  KW_TRY(out.label, r.string("label"));
  KW_TRY(out.answer, r.string("answer"));
  KW_TRY(out.finish, named<text::Finish>(r, "finish", finish_of_answer));
  KW_TRY(out.usage, usage(r));
  KW_TRY(out.wall_ms, amount(r, "wall_ms"));
  // Logs of before have no reasoning, and a suspicion in the label's place.
  KW_TRY(out.reasoning, r.string_or("reasoning", ""));
  if (r.has("suspicion")) {
    KW_TRY(out.suspicion, r.string("suspicion"));
  } else if (is_suspicion_of_before(out.label)) {
    out.suspicion = std::exchange(out.label, "");
  }
  return EventBody(std::move(out));
}
Result<EventBody> extracted(ObjectReader& r) {
  Extracted out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.attempt, attempt_number(r, "attempt", 0));
  KW_TRY(out.candidate, r.string("candidate"));
  KW_TRY(out.candidate_hash, r.string("candidate_hash"));
  KW_TRY(out.why_not, r.string("why_not"));
  return EventBody(std::move(out));
}
Result<EventBody> judged(ObjectReader& r) {
  Judged out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.attempt, attempt_number(r, "attempt", 0));
  KW_TRY(out.outcome, named<task::Outcome>(r, "outcome", task::outcome_from_string));
  KW_TRY(out.violation, r.string("violation"));
  KW_TRY(out.progress, named<task::Progress>(r, "progress", task::progress_from_string));
  KW_TRY(out.error, optional_number(r, "error"));
  if (const Json* speedup = r.find("speedup")) {
    KW_TRY(ObjectReader s, ObjectReader::make(*speedup, "speedup"));
    task::Speedup value;
    KW_TRY(value.median, amount(s, "median"));
    KW_TRY(value.low, amount(s, "low"));
    KW_TRY(value.high, amount(s, "high"));
    out.speedup = value;
  }
  KW_TRY(out.verdict, r.string("verdict"));
  KW_TRY(out.same_as, attempt_number(r, "same_as", kNoParent));
  KW_TRY(out.wall_ms, amount(r, "wall_ms"));
  return EventBody(std::move(out));
}
Result<EventBody> failed(ObjectReader& r) {
  Failed out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.attempt, attempt_number(r, "attempt", 0));
  KW_TRY(out.stage, r.string("stage"));
  KW_TRY(out.number, attempt_number(r, "number", 1));
  KW_TRY(out.code, named<ErrorCode>(r, "code", error_code_from_string));
  KW_TRY(out.message, r.string("message"));
  KW_TRY(out.again, r.boolean("again"));
  // Logs of before have none of the rest.
  KW_TRY(out.kind, r.string_or("kind", ""));
  if (r.find("prompt_tokens") != nullptr) {
    KW_TRY(out.usage, usage(r));
  }
  return EventBody(std::move(out));
}
Result<EventBody> problem_ended(ObjectReader& r) {
  ProblemEnded out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.end, named<End>(r, "end", end_from_string));
  KW_TRY(out.reason, r.string("reason"));
  KW_TRY(out.best, attempt_number(r, "best", kNoParent));
  KW_TRY(out.wall_s, amount(r, "wall_s"));
  return EventBody(std::move(out));
}

Result<EventBody> body_from(ObjectReader& r) {
  KW_TRY(std::string type, r.string("type"));
  if (type == kStarted) return run_started(r);
  if (type == kResumed) return run_resumed(r);
  if (type == kProblem) return problem_started(r);
  if (type == kDecided) return decided(r);
  if (type == kAnswered) return answered(r);
  if (type == kExtracted) return extracted(r);
  if (type == kJudged) return judged(r);
  if (type == kFailed) return failed(r);
  if (type == kProblemEnded) return problem_ended(r);
  if (type == kEnded) return EventBody(RunEnded{});
  return fail(ErrorCode::kInvalidArgument, "type: unknown \"{}\"", printable(type, 40));
}

}  // namespace

std::string kind_of(const Failed& failed) {
  if (!failed.kind.empty()) return failed.kind;
  return fmt::format("{}_{}", failed.stage, kw::to_string(failed.code));
}

std::string_view to_string(End end) {
  return kEnds.name(end);
}
std::optional<End> end_from_string(std::string_view name) {
  return kEnds.value(name);
}

Json to_json(const Event& event) {
  Json out = {{"at_ms", event.at_ms}};
  out.update(std::visit([](const auto& body) { return body_to_json(body); }, event.body));
  return out;
}

Result<Event> event_from_json(const Json& value) {
  KW_TRY(ObjectReader r, ObjectReader::make(value, ""));
  Event out;
  KW_TRY(out.at_ms, in_range<std::int64_t>(r.integer("at_ms"), "at_ms", 0));
  KW_TRY(out.body, body_from(r));
  return out;
}

}  // namespace kw::runlog
