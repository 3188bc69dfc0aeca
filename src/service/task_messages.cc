#include "service/task_messages.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <variant>

#include "base/error_names.h"
#include "base/text.h"
#include "gym/version.h"
#include "service/work.h"

namespace kw::service {
namespace {

constexpr std::size_t kMaxNameBytes = 200;  // of a worker or a submission
constexpr std::size_t kMaxReasonBytes = 300;
constexpr double kLongestTimeout = 30.0 * 86400;

Result<std::string> name_of(ObjectReader& reader, const char* key, const std::string& fallback) {
  KW_TRY(std::string out, reader.string_or(key, fallback));
  if (out.size() > kMaxNameBytes)
    return fail(ErrorCode::kInvalidArgument, "{}: longer than {} bytes", reader.path(key),
                kMaxNameBytes);
  return out;
}

Result<Submission> submission_of(Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY_STATUS(reader.get("request").map([](auto) {}));
  KW_TRY(AskedWork asked,
         asked_work_from_json(std::move(value["request"]), reader.path("request")));
  Submission out;
  KW_TRY(out.submission, name_of(reader, "submission", ""));
  KW_TRY(const double timeout, reader.number_or("timeout_seconds", 0));
  KW_TRY(const std::string isolation, reader.string_or("isolation", "none"));
  const auto level = sandbox::level_from_string(isolation);
  if (!level)
    return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", reader.path("isolation"),
                printable(isolation, 40));
  if (!(timeout >= 0 && timeout <= kLongestTimeout))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 0 to {}",
                reader.path("timeout_seconds"), timeout, kLongestTimeout);
  KW_TRY_STATUS(reader.no_other_keys());
  out.key = std::move(asked.key);
  out.needs = needs_of(asked.work);
  out.needs.isolation = *level;
  // A task that demands more does not join a judgement of less.
  if (*level != sandbox::Level::kNone) out.key += "/" + isolation;
  const auto put = [](WorkPart& part, std::string& hash, std::string& text) {
    hash = std::move(part.hash);
    if (!part.whole.is_null()) text = part.whole.dump();
  };
  put(asked.parts.problem, out.problem, out.problem_text);
  put(asked.parts.baseline, out.baseline, out.baseline_text);
  if (const auto* judgement = std::get_if<gym::EvalRequest>(&asked.work)) {
    out.tenant = judgement->tenant;
    out.priority = judgement->priority;
  }
  out.timeout_ms = std::llround(timeout * 1000);
  out.request = asked.json.dump();
  return out;
}

constexpr std::array<std::pair<std::string_view, ReportKind>, 5> kReports = {{
    {"renew", ReportKind::kRenew},
    {"complete", ReportKind::kComplete},
    {"fail", ReportKind::kFail},
    {"release", ReportKind::kRelease},
    {"lost", ReportKind::kLost},
}};

Result<LeaseReport> read_report(ObjectReader reader, ReportKind kind, JobId job) {
  LeaseReport out{.kind = kind, .job = job};
  KW_TRY(out.epoch, reader.integer("epoch"));
  if (kind == ReportKind::kComplete) {
    KW_TRY(AnswerText answer, answer_text(reader));
    out.answer = std::move(answer.text);
    out.summary = std::move(answer.summary);
  }
  if (kind == ReportKind::kFail) {
    KW_TRY(const std::string name, reader.string("code"));
    const auto code = error_code_from_string(name);
    if (!code)
      return fail(ErrorCode::kInvalidArgument, "{}: unknown error \"{}\"", reader.path("code"),
                  printable(name, 40));
    KW_TRY(std::string message, reader.string("message"));
    out.why = Error(*code, printable(message, 4000));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<LeaseReport> named_report(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const std::string task, reader.string("task"));
  KW_TRY(const JobId job, task_id_of(task));
  KW_TRY(const std::string name, reader.string("report"));
  for (const auto& [known, kind] : kReports)
    if (name == known) return read_report(std::move(reader), kind, job);
  return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", reader.path("report"),
              printable(name, 40));
}

}  // namespace

std::string_view to_string(ReportKind kind) {
  for (const auto& [name, known] : kReports)
    if (known == kind) return name;
  return "";
}

Result<std::chrono::milliseconds> poll_time(double seconds, const std::string& where) {
  const auto most = static_cast<double>(kLongestPoll.count());
  if (!(seconds >= 0 && seconds <= most))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 0 to {}", where, seconds, most);
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

Result<std::vector<Submission>> submissions_from_json(Json body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY_STATUS(reader.get("tasks").map([](auto) {}));
  Json& tasks = body["tasks"];
  KW_TRY(const std::string group, name_of(reader, "group", ""));
  KW_TRY_STATUS(reader.no_other_keys());
  if (!tasks.is_array() || tasks.empty() || tasks.size() > kMaxTasksAtOnce)
    return fail(ErrorCode::kInvalidArgument, "tasks: expected a list of 1 to {} tasks",
                kMaxTasksAtOnce);
  std::vector<Submission> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    KW_TRY(Submission each, submission_of(tasks[i], fmt::format("tasks[{}]", i)));
    each.group = group;
    out.push_back(std::move(each));
  }
  return out;
}

Result<LeaseCall> lease_call_from_json(const Json& body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  LeaseCall out;
  KW_TRY(out.worker, name_of(reader, "worker", "a worker without a name"));
  KW_TRY(out.name, name_of(reader, "name", ""));
  KW_TRY(const std::int64_t version, reader.integer("gym_version"));
  if (version != gym::kGymVersion)
    return fail(ErrorCode::kUnsupported,
                "gym_version: {}, where this server's verdicts come from version {}: verdicts of "
                "two versions are never mixed",
                version, gym::kGymVersion);
  KW_TRY(out.problem, name_of(reader, "problem", ""));
  KW_TRY(const std::int64_t most, reader.integer_or("most", 1));
  if (most < 1 || most > static_cast<std::int64_t>(kMaxTasksAtOnce))
    return fail(ErrorCode::kInvalidArgument, "most: {} is not within 1 to {}", most,
                kMaxTasksAtOnce);
  out.most = static_cast<std::size_t>(most);
  KW_TRY(const double wait, reader.number_or("wait_seconds", 0));
  KW_TRY(out.wait, poll_time(wait, "wait_seconds"));
  KW_TRY(const std::string unfit, reader.string_or("unfit", ""));
  out.unfit = printable(unfit, kMaxReasonBytes);
  if (const Json* can = reader.find("can")) {
    KW_TRY(out.can, abilities_from_json(*can, "can"));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<LeaseReport> lease_report_from_json(const Json& body, ReportKind kind, JobId job) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  return read_report(std::move(reader), kind, job);
}

Result<std::vector<LeaseReport>> lease_reports_from_json(const Json& body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY(const Json* reports, reader.get("reports"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (!reports->is_array() || reports->size() > kMaxTasksAtOnce)
    return fail(ErrorCode::kInvalidArgument, "reports: expected a list of at most {}",
                kMaxTasksAtOnce);
  std::vector<LeaseReport> out;
  for (std::size_t i = 0; i < reports->size(); ++i) {
    KW_TRY(LeaseReport each, named_report((*reports)[i], fmt::format("reports[{}]", i)));
    out.push_back(std::move(each));
  }
  return out;
}

std::string status_text(TicketId id, const TaskStatus& status) {
  std::string out = fmt::format(R"({{"id":"{}","state":"{}","is_final":{},"attempts":{})", id,
                                status.state, status.is_final, status.attempts);
  if (status.position) out += fmt::format(R"(,"position":{})", *status.position);
  if (status.estimated_start_seconds)
    out += fmt::format(R"(,"estimated_start_seconds":{})", *status.estimated_start_seconds);
  if (!status.waits_for.empty()) out += fmt::format(R"(,"waits_for":"{}")", status.waits_for);
  if (status.retry_in_seconds)
    out += fmt::format(R"(,"retry_in_seconds":{})", *status.retry_in_seconds);
  if (status.is_for_others) out += R"(,"is_for_other_workers":true)";
  if (status.answer.empty()) return out + "}";
  out += ',';
  out.append(status.answer, 1);  // without its "{"
  return out;
}

Result<std::size_t> place_of(std::string_view cursor, std::string_view start_name) {
  const std::size_t dash = cursor.find('-');
  std::size_t out = 0;
  const char* const last = cursor.data() + cursor.size();
  const char* const first = dash == std::string_view::npos ? last : cursor.data() + dash + 1;
  const auto [end, error] = std::from_chars(first, last, out);
  if (error != std::errc() || end != last)
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is no place that this server has given",
                printable(cursor, 60));
  return cursor.substr(0, dash) == start_name ? out : 0;
}

std::string cursor_of(std::size_t place, std::string_view start_name) {
  return fmt::format("{}-{}", start_name, place);
}

std::string group_text(const GroupStatus& group, std::string_view start_name) {
  std::string out = fmt::format(R"({{"open":{},"next":"{}","ended":[)", group.open,
                                cursor_of(group.next, start_name));
  const std::size_t empty = out.size();
  for (const auto& [ticket, status] : group.ended) {
    if (out.size() > empty) out += ',';
    out += status_text(ticket, status);
  }
  return out + "]}";
}

std::string leases_text(const std::vector<Lease>& leases, double seconds) {
  std::string out = R"({"leases":[)";
  for (const Lease& each : leases) {
    if (!out.ends_with('[')) out += ',';
    out += fmt::format(R"({{"task":"{}","epoch":{},"seconds":{},"request":)", each.job, each.epoch,
                       seconds);
    out += each.request;
    out += '}';
  }
  return out + "]}";
}

std::string requests_text(const std::vector<std::string>& requests) {
  std::string out = R"({"requests":[)";
  for (const std::string& each : requests) {
    if (!out.ends_with('[')) out += ',';
    out += each;
  }
  return out + "]}";
}

Result<std::uint64_t> task_id_of(std::string_view word) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc() || end != word.data() + word.size())
    return fail(ErrorCode::kNotFound, "no task \"{}\": ids are whole numbers", printable(word, 40));
  return out;
}

}  // namespace kw::service
