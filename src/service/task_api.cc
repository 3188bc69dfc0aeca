#include "service/task_api.h"

#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "gym/version.h"
#include "net/replies.h"
#include "net/sse.h"
#include "net/url.h"
#include "service/overview_json.h"
#include "service/task_messages.h"
#include "task/portable_candidate.h"
#include "task/portable_problem.h"

namespace kw::service {
namespace {

net::Response refusal(const Error& error) {
  return net::error_response(error);
}

// For a body that cannot be read. A hash that is not the content's is the caller's mistake.
net::Response refusal_of_body(const Error& error) {
  if (error.code() == ErrorCode::kDataLoss)
    return refusal({ErrorCode::kInvalidArgument, error.message()});
  return refusal(error);
}

// Another version of the gym is no fault of the server's.
net::Response refusal_of_lease(const Error& error) {
  net::Response out = refusal(error);
  if (error.code() == ErrorCode::kUnsupported) out.status = 409;
  return out;
}

// A std::function must be copyable.
using SharedResponder = std::shared_ptr<net::Responder>;
SharedResponder share(net::Responder responder) {
  return std::make_shared<net::Responder>(std::move(responder));
}

Result<std::uint64_t> id_of(const net::Request& request) {
  return task_id_of(request.parameter("id"));
}

net::Response json_text_response(std::string text) {
  net::Response out;
  out.headers.add("Content-Type", "application/json");
  out.body = std::move(text);
  return out;
}

Json error_json(const Error& error) {
  return {{"message", error.message()}, {"code", to_string(error.code())}};
}

// The numbers and texts of a query, each in its own place; other parameters are refused.
struct Query {
  std::map<std::string, double> numbers = {};
  std::map<std::string, std::string> texts = {};
};
Result<Query> query_of(const net::Request& request, Query out) {
  const auto query = net::parse_query(request.query);
  if (!query) return fail(ErrorCode::kInvalidArgument, "the query has a wrong escape");
  for (const auto& [name, value] : *query) {
    if (auto text = out.texts.find(name); text != out.texts.end()) {
      text->second = value;
      continue;
    }
    auto number = out.numbers.find(name);
    if (number == out.numbers.end())
      return fail(ErrorCode::kInvalidArgument, "unknown parameter \"{}\"", printable(name, 40));
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), number->second);
    if (error != std::errc() || end != value.data() + value.size())
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no number", name,
                  printable(value, 40));
  }
  return out;
}

Result<std::chrono::milliseconds> wait_of(const net::Request& request) {
  KW_TRY(const Query query, query_of(request, {.numbers = {{"wait", 0}}}));
  return poll_time(query.numbers.at("wait"), "wait");
}

Result<TaskService::GroupCall> group_call_of(const net::Request& request,
                                             const std::string& start_name) {
  KW_TRY(const Query query,
         query_of(request, {.numbers = {{"wait", 0}, {"least", 1}, {"most", kMaxTasksAtOnce}},
                            .texts = {{"after", ""}}}));
  TaskService::GroupCall out{.name = request.parameter("name")};
  KW_TRY(out.wait, poll_time(query.numbers.at("wait"), "wait"));
  for (const auto& [name, count] : {std::pair("least", &out.least), std::pair("most", &out.most)}) {
    const double given = query.numbers.at(name);
    if (!(given >= 1 && given <= kMaxTasksAtOnce))
      return fail(ErrorCode::kInvalidArgument, "{}: {} is not within 1 to {}", name, given,
                  kMaxTasksAtOnce);
    *count = static_cast<std::size_t>(given);
  }
  const std::string* last_event = request.headers.find("Last-Event-ID");
  const std::string& after = last_event != nullptr ? *last_event : query.texts.at("after");
  if (!after.empty()) {
    KW_TRY(out.after, place_of(after, start_name));
  }
  return out;
}

Result<std::uint64_t> after_of(const net::Request& request, const std::string& start_name) {
  KW_TRY(const Query query, query_of(request, {.texts = {{"after", ""}}}));
  const std::string& after = query.texts.at("after");
  if (after.empty()) return 0;
  return place_of(after, start_name);
}

// A judgement that tenants share has the words of the one who asked first.
Result<std::string> without_submitter(const std::string& request) {
  KW_TRY(Json out, parse_json(request));
  for (const char* key : {"tenant", "trajectory", "turn", "priority"}) out.erase(key);
  return out.dump();
}

// Follows a group until all of it has ended: each end is an event, whose id is the place behind it.
class GroupEvents : public std::enable_shared_from_this<GroupEvents> {
 public:
  GroupEvents(TaskService& service, TaskService::GroupCall call, net::ResponseStream stream)
      : service_(service), call_(std::move(call)), stream_(std::move(stream)) {
    call_.wait = kHeartbeat;
    call_.most = 1;
  }
  void follow() {
    service_.group(call_, [self = shared_from_this()](Result<GroupStatus> group) {
      self->write(std::move(group));
    });
  }

 private:
  static constexpr std::chrono::seconds kHeartbeat{15};

  void write(Result<GroupStatus> group) {
    if (!group) {
      (void)stream_.try_write(
          net::format_event({"error", Json{{"message", group.error().message()}}.dump(), ""}));
      return stream_.finish();
    }
    call_.after = group->next;
    const std::string place = cursor_of(group->next, service_.start_name());
    std::string text;
    for (const auto& [ticket, status] : group->ended)
      text += net::format_event({"task", status_text(ticket, status), place});
    const bool is_over = group->open == 0 && group->next == group->in_all;
    if (is_over) text += net::format_event({"end", "{}", place});
    if (text.empty()) text = net::format_comment("waiting");
    // A client that is slower than its group loses the connection, and goes on with Last-Event-ID.
    if (stream_.try_write(text) != net::Wrote::kTaken) return;
    if (is_over) return stream_.finish();
    follow();
  }

  TaskService& service_;
  TaskService::GroupCall call_;
  net::ResponseStream stream_;
};

// What requests can name by its hash, once it was sent.
struct Part {
  std::string hash = {}, key = {};  // key: as the shelf has it
  std::string text = {};            // JSON
};
Result<Part> uploaded_problem(const Json& body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY(const Json* problem, reader.get("problem"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY(const task::Problem read, task::problem_from_json(*problem, "problem"));
  return Part{.hash = read.hash, .key = read.hash, .text = problem->dump()};
}
Result<Part> uploaded_baseline(const Json& body) {
  KW_TRY(ObjectReader reader, ObjectReader::make(body, ""));
  KW_TRY(const Json* baseline, reader.get("baseline"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY(const task::Candidate read, task::portable_candidate_from_json(*baseline, "baseline"));
  return Part{.hash = read.hash, .key = baseline_key(read.hash), .text = baseline->dump()};
}

// Why no patience helps with a submission that is over its tenant's quota by itself.
std::optional<std::string> never_fits(const Identity& who,
                                      const std::vector<Submission>& submissions) {
  std::size_t bytes = 0;
  for (const Submission& each : submissions) bytes += each.request.size();
  if (who.most_open > 0 && submissions.size() > who.most_open)
    return fmt::format("tasks: {} at once, and {} may have {} under way", submissions.size(),
                       printable(who.tenant, 200), who.most_open);
  if (who.most_bytes > 0 && bytes > who.most_bytes)
    return fmt::format("tasks: their requests have {} bytes, and {} may have {} under way", bytes,
                       printable(who.tenant, 200), who.most_bytes);
  return std::nullopt;
}

Scope scope_of(const net::Request& request) {
  for (const char* path : {"/v1/leases", "/v1/reports", "/v1/compiles"})
    if (request.path.starts_with(path)) return Scope::kWork;
  return request.method == "GET" || request.method == "HEAD" ? Scope::kRead : Scope::kSubmit;
}

class TaskRoutes {
 public:
  TaskRoutes(TaskService& service, net::MetricRegistry& metrics, Callers callers)
      : service_(service), metrics_(metrics), callers_(std::move(callers)) {}

  void submit(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto submissions = submissions_from_json(std::move(*body));
    if (!submissions) return responder.send(refusal_of_body(submissions.error()));
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    if (auto why = never_fits(*who, *submissions))
      return responder.send(net::error_response(413, *why));
    for (Submission& each : *submissions) submit_as(*who, each);
    service_.submit(std::move(*submissions),
                    [this, who = *who, shared = share(std::move(responder))](auto submitted) {
                      if (!submitted) {
                        callers_.audit(who, "refused", {{"why", submitted.error().message()}});
                        return shared->send(refusal(submitted.error()));
                      }
                      if (const auto& no_room = submitted->no_room) {
                        callers_.audit(who, "refused", {{"why", no_room->why}});
                        return shared->send(net::retry_later(no_room->after, no_room->why));
                      }
                      Json list = Json::array();
                      for (TicketId id : submitted->tickets)
                        list.push_back({{"id", std::to_string(id)}});
                      Json answer = {{"tasks", std::move(list)}};
                      callers_.audit(who, "submitted", answer);
                      shared->send(net::json_response(answer));
                    });
  }

  void put_part(const net::Request& request, net::Responder responder,
                Result<Part> (*read)(const Json& body)) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto part = read(*body);
    if (!part) return responder.send(refusal_of_body(part.error()));
    service_.put_part(std::move(part->key), std::move(part->text),
                      [hash = part->hash, shared = share(std::move(responder))](auto stored) {
                        if (!stored) return shared->send(refusal(stored.error()));
                        shared->send(net::json_response({{"hash", hash}}));
                      });
  }

  void part(std::string key, const char* name, net::Responder responder) const {
    service_.part(std::move(key), [name, shared = share(std::move(responder))](auto text) {
      if (!text) return shared->send(refusal(text.error()));
      shared->send(json_text_response(fmt::format(R"({{"{}":{}}})", name, *text)));
    });
  }

  void status(const net::Request& request, net::Responder responder) const {
    const auto id = id_of(request);
    if (!id) return responder.send(refusal(id.error()));
    const auto wait = wait_of(request);
    if (!wait) return responder.send(refusal(wait.error()));
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    service_.status(*id, who->tenant, *wait, status_reply(*id, std::move(responder)));
  }

  // It answers with the request as the server keeps it.
  void asked(const net::Request& request, net::Responder responder) const {
    const auto id = id_of(request);
    if (!id) return responder.send(refusal(id.error()));
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    service_.request(
        *id, who->tenant,
        [is_tenant = !who->tenant.empty(), shared = share(std::move(responder))](auto text) {
          if (text && is_tenant) text = without_submitter(*text);
          if (!text) return shared->send(refusal(text.error()));
          shared->send(json_text_response(fmt::format(R"({{"request":{}}})", *text)));
        });
  }

  void overview(const net::Request& request, net::Responder responder) const {
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    const auto after = after_of(request, service_.start_name());
    if (!after) return responder.send(refusal(after.error()));
    service_.overview(
        who->tenant, *after,
        [this, tenant = who->tenant, shared = share(std::move(responder))](auto seen) {
          if (!seen) return shared->send(refusal(seen.error()));
          shared->send(net::json_response(overview_json(*seen, tenant, service_.start_name())));
        });
  }

  void group(const net::Request& request, net::Responder responder) const {
    auto call = group_call(request);
    if (!call) return responder.send(refusal(call.error()));
    service_.group(std::move(*call), [this, shared = share(std::move(responder))](auto group) {
      if (!group) return shared->send(refusal(group.error()));
      shared->send(json_text_response(group_text(*group, service_.start_name())));
    });
  }

  void events(const net::Request& request, net::Responder responder) const {
    auto call = group_call(request);
    if (!call) return responder.send(refusal(call.error()));
    std::make_shared<GroupEvents>(service_, std::move(*call),
                                  responder.stream(net::event_stream_head()))
        ->follow();
  }

  void cancel(const net::Request& request, net::Responder responder) const {
    const auto id = id_of(request);
    if (!id) return responder.send(refusal(id.error()));
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    callers_.audit(*who, "cancelled", {{"id", std::to_string(*id)}});
    service_.cancel(*id, who->tenant, status_reply(*id, std::move(responder)));
  }

  void lease(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto call = lease_call_from_json(*body);
    if (!call) return responder.send(refusal_of_lease(call.error()));
    std::stop_token gone = responder.stop_token();
    const double seconds = lease_seconds();
    service_.lease(std::move(*call), std::move(gone),
                   [shared = share(std::move(responder)), seconds](auto leases) {
                     if (!leases) return shared->send(refusal(leases.error()));
                     shared->send(json_text_response(leases_text(*leases, seconds)));
                   });
  }

  void compile(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto call = lease_call_from_json(*body);
    if (!call) return responder.send(refusal_of_lease(call.error()));
    service_.compile(std::move(*call), [shared = share(std::move(responder))](auto requests) {
      if (!requests) return shared->send(refusal(requests.error()));
      shared->send(json_text_response(requests_text(*requests)));
    });
  }

  void report(const net::Request& request, net::Responder responder, ReportKind kind) const {
    const auto job = id_of(request);
    if (!job) return responder.send(refusal(job.error()));
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto report = lease_report_from_json(*body, kind, *job);
    if (!report) return responder.send(refusal(report.error()));
    std::vector<LeaseReport> reports;
    reports.push_back(std::move(*report));
    service_.report(std::move(reports), [shared = share(std::move(responder)),
                                         seconds = lease_seconds()](auto results) {
      if (!results) return shared->send(refusal(results.error()));
      const Result<bool>& go_on = results->front();
      if (!go_on) return shared->send(refusal(go_on.error()));
      shared->send(net::json_response({{"go_on", *go_on}, {"seconds", seconds}}));
    });
  }

  void report_many(const net::Request& request, net::Responder responder) const {
    auto body = net::json_body(request);
    if (!body) return responder.send(std::move(body.error()));
    auto reports = lease_reports_from_json(*body);
    if (!reports) return responder.send(refusal(reports.error()));
    service_.report(std::move(*reports), [shared = share(std::move(responder)),
                                          seconds = lease_seconds()](auto results) {
      if (!results) return shared->send(refusal(results.error()));
      Json list = Json::array();
      for (const Result<bool>& each : *results)
        list.push_back(each ? Json{{"go_on", *each}, {"seconds", seconds}}
                            : Json{{"error", error_json(each.error())}});
      shared->send(net::json_response({{"reports", std::move(list)}}));
    });
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

  void queue(net::Responder responder) const {
    service_.view([shared = share(std::move(responder))](auto view) {
      if (!view) return shared->send(refusal(view.error()));
      std::size_t waiting = 0, leased = 0;
      const auto rows = [](const std::vector<TaskShare>& shares) {
        Json list = Json::array();
        for (const TaskShare& each : shares)
          list.push_back({{"name", each.name}, {"waiting", each.waiting}, {"leased", each.leased}});
        return list;
      };
      for (const TaskShare& each : view->tenants) {
        waiting += each.waiting;
        leased += each.leased;
      }
      shared->send(net::json_response({{"waiting", waiting},
                                       {"leased", leased},
                                       {"tenants", rows(view->tenants)},
                                       {"workers", rows(view->workers)}}));
    });
  }

  void metrics(net::Responder responder) const {
    service_.counts([this, shared = share(std::move(responder))](auto counts) {
      if (!counts) return shared->send(refusal(counts.error()));
      service_.view([this, shared, counts = *counts](auto view) {
        if (!view) return shared->send(refusal(view.error()));
        shared->send(metrics_response(counts, view->judged_seconds));
      });
    });
  }

 private:
  Result<TaskService::GroupCall> group_call(const net::Request& request) const {
    KW_TRY(const Identity who, callers_.identify(request));
    KW_TRY(TaskService::GroupCall out, group_call_of(request, service_.start_name()));
    out.name = own_name(who, out.name);
    return out;
  }

  double lease_seconds() const {
    return std::chrono::duration<double>(service_.tasks().lease).count();
  }

  static TaskService::Reply<TaskStatus> status_reply(TicketId id, net::Responder responder) {
    return [id, shared = share(std::move(responder))](Result<TaskStatus> status) {
      if (!status) return shared->send(refusal(status.error()));
      shared->send(json_text_response(status_text(id, *status)));
    };
  }

  // The counts of the table are written as they are: they have no other owner.
  net::Response metrics_response(const TaskCounts& counts,
                                 const std::map<std::string, double>& judged_seconds) const {
    std::string text = metrics_.text();
    net::MetricRegistry shares;
    for (const auto& [tenant, seconds] : judged_seconds)
      shares
          .counter("kw_tenant_judged_milliseconds_total",
                   "How long tasks of the tenant were judged, as long as it is remembered.",
                   {{"tenant", tenant}})
          .add(static_cast<std::uint64_t>(seconds * 1000));
    text += shares.text();
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
    add("counter", "kw_task_retries_elsewhere_total", "Retries that began with another worker.",
        counts.retried_elsewhere);
    add("counter", "kw_task_retries_there_total",
        "Retries that began with a worker that had failed the task, as no other came.",
        counts.retried_there);
    add("gauge", "kw_tasks_pausing", "Waiting tasks in the pause before a retry.", counts.pausing);
    add("gauge", "kw_tasks_for_other_workers",
        "Waiting tasks that are kept for workers that have not failed them.", counts.for_others);
    add("counter", "kw_answers_refused_total", "Answers after the end of their lease.",
        counts.refused_answers);
    net::Response out;
    out.headers.add("Content-Type", net::kMetricsContentType);
    out.body = std::move(text);
    return out;
  }

  TaskService& service_;
  net::MetricRegistry& metrics_;
  const Callers callers_;
};

}  // namespace

std::string own_name(const Identity& who, const std::string& name) {
  return who.tenant.empty() || name.empty() ? name : who.tenant + "/" + name;
}

void submit_as(const Identity& who, Submission& submission) {
  submission.owner = who.tenant;
  if (!who.tenant.empty()) submission.tenant = who.tenant;
  submission.submission = own_name(who, submission.submission);
  submission.group = own_name(who, submission.group);
  submission.most_open = who.most_open;
  submission.most_bytes = who.most_bytes;
  submission.most_seconds = who.most_seconds;
  submission.weight = who.weight;
}

std::optional<net::Response> refuse_caller(const Callers& callers, const net::Request& request) {
  // These say nothing about single tasks.
  if (request.path == "/healthz" || request.path == "/health") return std::nullopt;
  const auto who = callers.identify(request);
  if (!who) {
    callers.audit({}, "refused", {{"path", request.path}, {"why", who.error().message()}});
    net::Response out = net::error_response(401, who.error().message());
    out.headers.add("WWW-Authenticate", "Bearer");
    return out;
  }
  // These show all tenants.
  const bool is_of_all = request.path == "/v1/queue" || request.path == "/metrics" ||
                         request.path == "/queue/status" || request.path == "/workers/status" ||
                         request.path.starts_with("/monitoring/");
  // Whoever knows the hash of a problem or a baseline may read it, and workers must.
  const bool is_part = request.method == "GET" && (request.path.starts_with("/v1/problems/") ||
                                                   request.path.starts_with("/v1/baselines/"));
  const bool may = who->may(scope_of(request)) || (is_part && who->may(Scope::kWork));
  if (may && (who->tenant.empty() || !is_of_all)) return std::nullopt;
  callers.audit(*who, "refused", {{"path", request.path}, {"why", "not in the token's scopes"}});
  return net::error_response(
      fail(ErrorCode::kPermissionDenied, "the token may not do this").value());
}

bool wants_json_metrics(const net::Request& request) {
  const std::string* accept = request.headers.find("Accept");
  return accept != nullptr && accept->find("application/json") != std::string::npos;
}

net::Router task_routes(TaskService& service, net::MetricRegistry& metrics, Callers callers,
                        net::Handler json_metrics) {
  auto routes = std::make_shared<const TaskRoutes>(service, metrics, std::move(callers));
  net::Router out;
  const net::RouteOptions large{.max_body_bytes = kMaxRequestBytes};
  auto add = [&](const char* method, const char* path, const auto& answer) {
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
  add("POST", "/v1/problems",
      [](R r, Q q, net::Responder to) { r.put_part(q, std::move(to), uploaded_problem); });
  add("POST", "/v1/baselines",
      [](R r, Q q, net::Responder to) { r.put_part(q, std::move(to), uploaded_baseline); });
  add("GET", "/v1/problems/{hash}",
      [](R r, Q q, net::Responder to) { r.part(q.parameter("hash"), "problem", std::move(to)); });
  add("GET", "/v1/baselines/{hash}", [](R r, Q q, net::Responder to) {
    r.part(baseline_key(q.parameter("hash")), "baseline", std::move(to));
  });
  add("GET", "/v1/tasks/{id}", [](R r, Q q, net::Responder to) { r.status(q, std::move(to)); });
  add("GET", "/v1/tasks/{id}/request",
      [](R r, Q q, net::Responder to) { r.asked(q, std::move(to)); });
  add("DELETE", "/v1/tasks/{id}", [](R r, Q q, net::Responder to) { r.cancel(q, std::move(to)); });
  add("GET", "/v1/groups/{name}", [](R r, Q q, net::Responder to) { r.group(q, std::move(to)); });
  add("GET", "/v1/groups/{name}/events",
      [](R r, Q q, net::Responder to) { r.events(q, std::move(to)); });
  add("POST", "/v1/leases", [](R r, Q q, net::Responder to) { r.lease(q, std::move(to)); });
  add("POST", "/v1/compiles", [](R r, Q q, net::Responder to) { r.compile(q, std::move(to)); });
  auto add_report = [&](const char* path, ReportKind kind) {
    add("POST", path, [kind](R r, Q q, net::Responder to) { r.report(q, std::move(to), kind); });
  };
  add("POST", "/v1/reports", [](R r, Q q, net::Responder to) { r.report_many(q, std::move(to)); });
  add_report("/v1/leases/{id}/renew", ReportKind::kRenew);
  add_report("/v1/leases/{id}/complete", ReportKind::kComplete);
  add_report("/v1/leases/{id}/fail", ReportKind::kFail);
  add_report("/v1/leases/{id}/release", ReportKind::kRelease);
  add_report("/v1/leases/{id}/lost", ReportKind::kLost);
  add("GET", "/v1/overview", [](R r, Q q, net::Responder to) { r.overview(q, std::move(to)); });
  add("GET", "/v1/queue", [](R r, Q, net::Responder to) { r.queue(std::move(to)); });
  add("GET", "/healthz", [](R r, Q, net::Responder to) { r.health(std::move(to)); });
  add("GET", "/metrics", [json = std::move(json_metrics)](R r, Q q, net::Responder to) {
    if (json && wants_json_metrics(q)) return json(q, std::move(to));
    r.metrics(std::move(to));
  });
  return out;
}

}  // namespace kw::service
