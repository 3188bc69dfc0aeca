#include "service/task_api.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error_names.h"
#include "base/text.h"
#include "gym/eval_request.h"
#include "gym/version.h"
#include "net/replies.h"
#include "net/url.h"
#include "task/verdict.h"

namespace kw::service {
namespace {

constexpr std::size_t kMaxNameBytes = 200;  // of a worker or a submission
constexpr double kLongestTimeout = 30.0 * 86400;

net::Response refusal(const Error& error) {
  if (error.code() == ErrorCode::kResourceExhausted)
    return net::retry_later(std::chrono::seconds(2), error.message());
  return net::error_response(error);
}

// A std::function must be copyable.
using SharedResponder = std::shared_ptr<net::Responder>;
SharedResponder share(net::Responder responder) {
  return std::make_shared<net::Responder>(std::move(responder));
}

Result<std::uint64_t> id_of(const net::Request& request) {
  const std::string& word = request.parameter("id");
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc() || end != word.data() + word.size())
    return fail(ErrorCode::kNotFound, "no task \"{}\": ids are whole numbers", printable(word, 40));
  return out;
}

Result<std::chrono::milliseconds> poll_time(double seconds, const std::string& where) {
  const auto most = static_cast<double>(kLongestPoll.count());
  if (!(seconds >= 0 && seconds <= most))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 0 to {}", where, seconds, most);
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

Result<std::chrono::milliseconds> wait_of(const net::Request& request) {
  const auto query = net::parse_query(request.query);
  if (!query) return fail(ErrorCode::kInvalidArgument, "the query has a wrong escape");
  double seconds = 0;
  for (const auto& [name, value] : *query) {
    if (name != "wait")
      return fail(ErrorCode::kInvalidArgument, "unknown parameter \"{}\"; there is wait",
                  printable(name, 40));
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error != std::errc() || end != value.data() + value.size())
      return fail(ErrorCode::kInvalidArgument, "wait: \"{}\" is no number of seconds",
                  printable(value, 40));
  }
  return poll_time(seconds, "wait");
}

Result<std::string> name_of(ObjectReader& reader, const char* key, const std::string& fallback) {
  KW_TRY(std::string out, reader.string_or(key, fallback));
  if (out.size() > kMaxNameBytes)
    return fail(ErrorCode::kInvalidArgument, "{}: longer than {} bytes", reader.path(key),
                kMaxNameBytes);
  return out;
}

Result<Submission> submission_of(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const Json* request, reader.get("request"));
  KW_TRY(const gym::EvalRequest read,
         gym::eval_request_from_json(*request, reader.path("request")));
  Submission out;
  KW_TRY(out.submission, name_of(reader, "submission", ""));
  KW_TRY(const double timeout, reader.number_or("timeout_seconds", 0));
  if (!(timeout >= 0 && timeout <= kLongestTimeout))
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 0 to {}",
                reader.path("timeout_seconds"), timeout, kLongestTimeout);
  KW_TRY_STATUS(reader.no_other_keys());
  out.key = read.hash();
  out.tenant = read.tenant;
  out.priority = read.priority;
  out.timeout_ms = std::llround(timeout * 1000);
  out.request = request->dump();
  return out;
}

Result<std::vector<Submission>> submissions_of(const Json& body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY(const Json* tasks, reader.get("tasks"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (!tasks->is_array() || tasks->empty() || tasks->size() > kMaxTasksAtOnce)
    return fail(ErrorCode::kInvalidArgument, "tasks: expected a list of 1 to {} tasks",
                kMaxTasksAtOnce);
  std::vector<Submission> out;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    KW_TRY(Submission each, submission_of((*tasks)[i], fmt::format("tasks[{}]", i)));
    out.push_back(std::move(each));
  }
  return out;
}

Json status_json(TicketId id, const TaskStatus& status) {
  Json out = {{"id", std::to_string(id)},
              {"state", status.state},
              {"is_final", status.is_final},
              {"attempts", status.attempts}};
  if (status.position) out["position"] = *status.position;
  if (status.estimated_start_seconds)
    out["estimated_start_seconds"] = *status.estimated_start_seconds;
  if (status.answer.empty()) return out;
  const auto answer = parse_json(status.answer);  // ours: made by this server
  if (answer) out.update(*answer);
  return out;
}

struct LeaseCall {
  std::string worker, name;
  std::chrono::milliseconds wait{0};
};

Result<LeaseCall> lease_call_of(const Json& body) {
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
  KW_TRY(const double wait, reader.number_or("wait_seconds", 0));
  KW_TRY(out.wait, poll_time(wait, "wait_seconds"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

// A worker says this of its lease.
struct LeaseReport {
  JobId job = 0;
  std::int64_t epoch = 0;
  std::string answer;        // of complete
  std::optional<Error> why;  // of fail
};
enum class ReportKind { kRenew, kComplete, kFail, kRelease };

Result<LeaseReport> report_of(const net::Request& request, const Json& body, ReportKind kind) {
  LeaseReport out;
  KW_TRY(out.job, id_of(request));
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY(out.epoch, reader.integer("epoch"));
  if (kind == ReportKind::kComplete) {
    KW_TRY(const Json* verdict, reader.get("verdict"));
    KW_TRY(const task::Verdict read, task::verdict_from_json(*verdict, "verdict"));
    out.answer = Json{{"verdict", task::to_json(read)}}.dump();
  }
  if (kind == ReportKind::kFail) {
    KW_TRY(const std::string name, reader.string("code"));
    const auto code = error_code_from_string(name);
    if (!code)
      return fail(ErrorCode::kInvalidArgument, "code: unknown error \"{}\"", printable(name, 40));
    KW_TRY(std::string message, reader.string("message"));
    out.why = Error(*code, printable(message, 4000));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

class TaskRoutes {
 public:
  TaskRoutes(TaskService& service, net::MetricRegistry& metrics)
      : service_(service), metrics_(metrics) {}

  void submit(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto submissions = submissions_of(*body);
    if (!submissions) return responder.send(refusal(submissions.error()));
    service_.submit(std::move(*submissions), [shared = share(std::move(responder))](auto tickets) {
      if (!tickets) return shared->send(refusal(tickets.error()));
      Json list = Json::array();
      for (TicketId id : *tickets) list.push_back({{"id", std::to_string(id)}});
      shared->send(net::json_response({{"tasks", std::move(list)}}));
    });
  }

  void status(const net::Request& request, net::Responder responder) const {
    const auto id = id_of(request);
    if (!id) return responder.send(refusal(id.error()));
    const auto wait = wait_of(request);
    if (!wait) return responder.send(refusal(wait.error()));
    std::stop_token gone = responder.stop_token();
    service_.status(*id, *wait, std::move(gone), status_reply(*id, std::move(responder)));
  }

  void cancel(const net::Request& request, net::Responder responder) const {
    const auto id = id_of(request);
    if (!id) return responder.send(refusal(id.error()));
    service_.cancel(*id, status_reply(*id, std::move(responder)));
  }

  void lease(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto call = lease_call_of(*body);
    if (!call) return responder.send(refusal(call.error()));
    std::stop_token gone = responder.stop_token();
    const double seconds = lease_seconds();
    service_.lease(std::move(call->worker), std::move(call->name), call->wait, std::move(gone),
                   [shared = share(std::move(responder)), seconds](auto lease) {
                     if (!lease) return shared->send(refusal(lease.error()));
                     shared->send(net::json_response({{"lease", lease_json(*lease, seconds)}}));
                   });
  }

  void report(const net::Request& request, net::Responder responder, ReportKind kind) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto report = report_of(request, *body, kind);
    if (!report) return responder.send(refusal(report.error()));
    auto reply = [shared = share(std::move(responder)), seconds = lease_seconds()](auto go_on) {
      if (!go_on) return shared->send(refusal(go_on.error()));
      shared->send(net::json_response({{"go_on", *go_on}, {"seconds", seconds}}));
    };
    switch (kind) {
      case ReportKind::kRenew:
        return service_.renew(report->job, report->epoch, reply);
      case ReportKind::kComplete:
        return service_.complete(report->job, report->epoch, std::move(report->answer), reply);
      case ReportKind::kFail:
        return service_.fail_job(report->job, report->epoch, *report->why, reply);
      case ReportKind::kRelease:
        return service_.release(report->job, report->epoch, reply);
    }
  }

  void health(net::Responder responder) const {
    service_.counts([shared = share(std::move(responder))](auto counts) {
      if (!counts) return shared->send(net::error_response(503, counts.error().message()));
      shared->send(net::json_response({{"status", "ok"},
                                       {"gym_version", gym::kGymVersion},
                                       {"waiting", counts->waiting},
                                       {"leased", counts->leased}}));
    });
  }

  void metrics(net::Responder responder) const {
    service_.counts([this, shared = share(std::move(responder))](auto counts) {
      if (!counts) return shared->send(refusal(counts.error()));
      shared->send(metrics_response(*counts));
    });
  }

 private:
  double lease_seconds() const {
    return std::chrono::duration<double>(service_.tasks().lease).count();
  }

  static TaskService::Reply<TaskStatus> status_reply(TicketId id, net::Responder responder) {
    return [id, shared = share(std::move(responder))](Result<TaskStatus> status) {
      if (!status) return shared->send(refusal(status.error()));
      shared->send(net::json_response(status_json(id, *status)));
    };
  }

  static Json lease_json(const std::optional<Lease>& lease, double seconds) {
    if (!lease) return nullptr;
    const auto request = parse_json(lease->request);  // was well-formed when it was accepted
    return {{"task", std::to_string(lease->job)},
            {"epoch", lease->epoch},
            {"seconds", seconds},
            {"request", request ? *request : Json()}};
  }

  // The counts of the table are written as they are: they have no other owner.
  net::Response metrics_response(const TaskCounts& counts) const {
    std::string text = metrics_.text();
    auto add = [&](const char* kind, const char* name, const char* help, std::uint64_t value) {
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, kind, value);
    };
    add("gauge", "kw_tasks_waiting", "Tasks that wait for a worker.", counts.waiting);
    add("gauge", "kw_tasks_leased", "Tasks that a worker has.", counts.leased);
    add("counter", "kw_tasks_submitted_total", "Accepted submissions.", counts.submitted);
    add("counter", "kw_tasks_done_total", "Tasks with a verdict.", counts.done);
    add("counter", "kw_tasks_failed_total", "Tasks that the infrastructure failed.", counts.failed);
    add("counter", "kw_tasks_dead_total", "Tasks whose workers were lost twice.", counts.dead);
    add("counter", "kw_tasks_cancelled_total", "Tasks that nobody waits for.", counts.cancelled);
    add("counter", "kw_workers_lost_total", "Leases that ended in silence.", counts.lost_workers);
    add("counter", "kw_task_retries_total", "Failures that were tried again.", counts.retries);
    add("counter", "kw_answers_refused_total", "Answers after the end of their lease.",
        counts.refused_answers);
    net::Response out;
    out.headers.add("Content-Type", net::kMetricsContentType);
    out.body = std::move(text);
    return out;
  }

  TaskService& service_;
  net::MetricRegistry& metrics_;
};

}  // namespace

net::Router task_routes(TaskService& service, net::MetricRegistry& metrics) {
  auto routes = std::make_shared<const TaskRoutes>(service, metrics);
  net::Router out;
  const net::RouteOptions large{.max_body_bytes = kMaxRequestBytes};
  auto add = [&](const char* method, const char* path, auto answer) {
    out.add(
        method, path,
        [routes, answer](const net::Request& request, net::Responder responder) {
          answer(*routes, request, std::move(responder));
        },
        large);
  };
  using R = const TaskRoutes&;
  using Q = const net::Request&;
  add("POST", "/v1/tasks", [](R r, Q q, net::Responder to) { r.submit(q, std::move(to)); });
  add("GET", "/v1/tasks/{id}", [](R r, Q q, net::Responder to) { r.status(q, std::move(to)); });
  add("DELETE", "/v1/tasks/{id}", [](R r, Q q, net::Responder to) { r.cancel(q, std::move(to)); });
  add("POST", "/v1/leases", [](R r, Q q, net::Responder to) { r.lease(q, std::move(to)); });
  auto add_report = [&](const char* path, ReportKind kind) {
    add("POST", path, [kind](R r, Q q, net::Responder to) { r.report(q, std::move(to), kind); });
  };
  add_report("/v1/leases/{id}/renew", ReportKind::kRenew);
  add_report("/v1/leases/{id}/complete", ReportKind::kComplete);
  add_report("/v1/leases/{id}/fail", ReportKind::kFail);
  add_report("/v1/leases/{id}/release", ReportKind::kRelease);
  add("GET", "/healthz", [](R r, Q, net::Responder to) { r.health(std::move(to)); });
  add("GET", "/metrics", [](R r, Q, net::Responder to) { r.metrics(std::move(to)); });
  return out;
}

}  // namespace kw::service
