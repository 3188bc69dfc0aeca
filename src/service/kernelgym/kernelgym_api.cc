#include "service/kernelgym/kernelgym_api.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "net/replies.h"
#include "service/kernelgym/evaluation_response.h"

namespace kw::service::kernelgym {
namespace {

constexpr std::size_t kMaxBatch = 100;

using SharedResponder = std::shared_ptr<net::Responder>;
SharedResponder share(net::Responder responder) {
  return std::make_shared<net::Responder>(std::move(responder));
}

net::Response detail(int status, const std::string& text) {
  return net::json_response({{"detail", printable(text, 4000)}}, status);
}

net::Response refusal(const Error& error) {
  const int status = net::error_response(error).status;
  return detail(status, error.message());
}

net::Response refusal(const service::NoRoom& no_room) {
  net::Response out = net::retry_later(no_room.after, no_room.why);
  out.body = detail(out.status, no_room.why).body;
  return out;
}

net::Response wrong_request(const Error& error, const std::string& timestamp) {
  net::Response out = net::json_response(
      {{"error", "RequestValidationError"},
       {"message", "Request validation failed: " + printable(error.message(), 4000)},
       {"error_code", "VALIDATION_ERROR"},
       {"task_id", nullptr},
       {"timestamp", timestamp}},
      400);
  out.headers.add("X-Error-Code", "VALIDATION_ERROR");
  return out;
}

struct Batch {
  std::string batch_id = {};
  std::vector<EvaluationRequest> requests = {};
};
Result<Batch> batch_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  Batch out;
  KW_TRY(out.batch_id, reader.string("batch_id"));
  KW_TRY(const Json* tasks, reader.get("tasks"));
  if (!tasks->is_array() || tasks->empty() || tasks->size() > kMaxBatch)
    return fail(ErrorCode::kInvalidArgument, "tasks: expected a list of 1 to {} tasks", kMaxBatch);
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    KW_TRY(EvaluationRequest each,
           evaluation_request_from_json((*tasks)[i], fmt::format("tasks[{}]", i)));
    out.requests.push_back(std::move(each));
  }
  return out;
}

// A workflow's payload is an evaluation's body; what stands beside it counts more.
Result<EvaluationRequest> workflow_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  const Json* given = reader.find("payload");
  Json payload = given == nullptr ? Json::object() : *given;
  if (!payload.is_object()) return fail(ErrorCode::kInvalidArgument, "payload: expected an object");
  for (const char* key : {"task_id", "workflow", "force_refresh", "resources"})
    if (const Json* beside = reader.find(key)) payload[key] = *beside;
  return evaluation_request_from_json(payload, "payload");
}

Json check_json(const SourceCheck& check) {
  return {{"valid", check.is_valid}, {"error", check.error}, {"entry_point", check.entry_point}};
}

Json validation_json(const EvaluationRequest& request) {
  std::vector<std::string> errors = workflow_errors(request);
  if (errors.empty())
    if (const auto eval = to_eval_request(request); !eval) errors.push_back(eval.error().message());
  Json out = {{"valid", errors.empty()},
              {"errors", errors},
              {"task_id", request.task_id},
              {"workflow", request.workflow}};
  if (request.workflow == "kernelbench") out["reference"] = check_json(check_reference(request));
  out["kernel"] = check_json(check_kernel(request));
  out["request_info"] = {{"backend", to_string(request.backend)},
                         {"num_correct_trials", request.num_correct_trials},
                         {"num_perf_trials", request.num_perf_trials},
                         {"timeout", request.timeout},
                         {"priority", request.priority},
                         {"device_preference", nullptr},
                         {"force_refresh", request.force_refresh},
                         {"workflow", request.workflow}};
  if (!request.device_preference.empty())
    out["request_info"]["device_preference"] = request.device_preference;
  return out;
}

Json batch_json(const std::string& batch_id, std::vector<Json> results) {
  std::size_t failed = 0;
  for (const Json& each : results)
    if (each["status"] == "failed") ++failed;
  const Json first = results.front()["submitted_at"], last = results.back()["completed_at"];
  return {{"batch_id", batch_id},
          {"total_tasks", results.size()},
          {"completed_tasks", results.size() - failed},
          {"failed_tasks", failed},
          {"results", std::move(results)},
          {"batch_status", "completed"},
          {"submitted_at", first},
          {"completed_at", last}};
}

class Routes {
 public:
  Routes(service::TaskService& service, service::Callers callers, Options options)
      : service_(service),
        callers_(std::move(callers)),
        options_(std::move(options)),
        began_(options_.now()) {}

  void evaluate_one(const net::Request& request, net::Responder responder) const {
    const auto body = net::json_body(request);
    if (!body) return responder.send(body.error());
    auto asked = evaluation_request_from_json(*body, "");
    if (!asked) return responder.send(wrong_request(asked.error(), options_.timestamp()));
    run(request, std::move(responder), {std::move(*asked)},
        [](std::vector<Json> results) { return std::move(results.front()); });
  }

  void evaluate_batch(const net::Request& request, net::Responder responder) const {
    const auto body = net::json_body(request);
    if (!body) return responder.send(body.error());
    auto batch = batch_from_json(*body);
    if (!batch) return responder.send(wrong_request(batch.error(), options_.timestamp()));
    run(request, std::move(responder), std::move(batch->requests),
        [id = batch->batch_id](std::vector<Json> results) {
          return batch_json(id, std::move(results));
        });
  }

  void submit_workflow(const net::Request& request, net::Responder responder) const {
    const auto body = net::json_body(request);
    if (!body) return responder.send(body.error());
    auto asked = workflow_from_json(*body);
    if (!asked) return responder.send(wrong_request(asked.error(), options_.timestamp()));
    run(request, std::move(responder), {std::move(*asked)},
        [](const std::vector<Json>& results) { return workflow_response(results.front()); });
  }

  void validate(const net::Request& request, net::Responder responder) const {
    const auto body = net::json_body(request);
    if (!body) return responder.send(body.error());
    const auto asked = evaluation_request_from_json(*body, "");
    if (!asked) return responder.send(wrong_request(asked.error(), options_.timestamp()));
    responder.send(net::json_response(validation_json(*asked)));
  }

  void status(const net::Request& request, net::Responder responder) const {
    look(request, std::move(responder), [](const std::string& id, const auto& newest) {
      const service::TaskStatus& status = newest.status;
      Json out = {{"task_id", id},
                  {"status", status_word(status)},
                  {"progress", nullptr},
                  {"estimated_completion", nullptr},
                  {"queue_position", nullptr},
                  {"assigned_device", nullptr}};
      if (status.position) out["queue_position"] = *status.position;
      // KernelGYM's client asks for no result of a task that has failed, and looks for the reason
      // here.
      if (out["status"] == "failed")
        out["error_message"] = evaluation_response(id, status)["error_message"];
      return std::optional<Json>(std::move(out));
    });
  }

  void results(const net::Request& request, net::Responder responder, bool is_workflow) const {
    look(request, std::move(responder),
         [is_workflow](const std::string& id, const auto& newest) -> std::optional<Json> {
           if (!newest.status.is_final) return std::nullopt;
           Json out = evaluation_response(id, newest.status);
           return is_workflow ? workflow_response(out) : std::move(out);
         });
  }

  void cancel(const net::Request& request, net::Responder responder) const {
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    const std::string& id = request.parameter("id");
    auto shared = share(std::move(responder));
    find(*who, id, [this, who = *who, id, shared](auto newest) {
      if (!newest) return shared->send(refusal(newest.error()));
      if (!*newest || (*newest)->status.is_final)
        return shared->send(
            detail(404, fmt::format("Task {} not found or cannot be cancelled", id)));
      callers_.audit(who, "cancelled", {{"id", std::to_string((*newest)->ticket)}});
      service_.cancel((*newest)->ticket, who.tenant, [id, shared](const auto& status) {
        if (!status) return shared->send(refusal(status.error()));
        shared->send(net::json_response(
            {{"message", fmt::format("Task {} cancelled successfully", printable(id, 400))}}));
      });
    });
  }

  void health(net::Responder responder) const {
    service_.counts([this, shared = share(std::move(responder))](auto counts) {
      if (!counts) return shared->send(refusal(counts.error()));
      const std::uint64_t ended = counts->done + counts->failed + counts->dead;
      shared->send(net::json_response(
          {{"status", "healthy"},
           {"timestamp", options_.timestamp()},
           {"gpu_status", Json::object()},
           {"queue_status",
            {{"pending", counts->waiting}, {"processing", counts->leased}, {"completed", ended}}},
           {"memory_usage", Json::object()},
           {"active_tasks", counts->leased},
           {"total_processed", ended},
           {"uptime", std::chrono::duration<double>(options_.now() - began_).count()}}));
    });
  }

  void queue(net::Responder responder) const {
    service_.view([shared = share(std::move(responder))](auto view) {
      if (!view) return shared->send(refusal(view.error()));
      std::size_t pending = 0;
      for (const auto& each : view->tenants) pending += each.waiting;
      Json workers = Json::object();
      for (const auto& each : view->workers) workers[each.name] = each.leased;
      shared->send(net::json_response({{"pending", pending},
                                       {"pending_by_prefix", {{"kernelgym", pending}}},
                                       {"worker_queues", std::move(workers)}}));
    });
  }

  void workers(net::Responder responder) const {
    service_.overview("", 0, [this, shared = share(std::move(responder))](auto seen) {
      if (!seen) return shared->send(refusal(seen.error()));
      Json out = Json::object();
      for (const auto& each : seen->overview.workers) {
        // One without a task asks again within a poll's time.
        const bool is_online = each.leased > 0 || seen->now - each.seen < 2 * service::kLongestPoll;
        out[each.name] = {{"device", ""},
                          {"status", is_online ? "online" : "offline"},
                          {"seconds_since_heartbeat",
                           std::chrono::duration<double>(seen->now - each.seen).count()},
                          {"node_id", ""},
                          {"hostname", ""},
                          {"tasks", each.leased}};
      }
      shared->send(net::json_response(out));
    });
  }

 private:
  using Newest = std::optional<service::TaskTable::Newest>;

  void run(const net::Request& request, net::Responder responder,
           std::vector<EvaluationRequest> requests,
           std::function<Json(std::vector<Json>)> answer) const {
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    Json ids = Json::array();
    for (const EvaluationRequest& each : requests) ids.push_back(printable(each.task_id, 400));
    callers_.audit(*who, "asked to evaluate", {{"task_ids", std::move(ids)}});
    const std::stop_token gone = responder.stop_token();
    evaluate(service_, *who, std::move(requests), options_, gone,
             [shared = share(std::move(responder)), answer = std::move(answer)](auto results) {
               if (!results) return shared->send(refusal(results.error()));
               if (results->no_room) return shared->send(refusal(*results->no_room));
               shared->send(net::json_response(answer(std::move(results->responses))));
             });
  }

  void find(const service::Identity& who, const std::string& id,
            const service::TaskService::Reply<Newest>& reply) const {
    service_.newest({service::own_name(who, group_of_task(id))}, [reply](auto found) {
      if (!found) return reply(tl::unexpected(found.error()));
      reply(std::move(found->front()));
    });
  }

  // show: what is said of the last task of this id; nullopt: not there yet.
  template <typename Show>
  void look(const net::Request& request, net::Responder responder, Show show) const {
    const auto who = callers_.identify(request);
    if (!who) return responder.send(refusal(who.error()));
    const std::string& id = request.parameter("id");
    find(*who, id, [id, show, shared = share(std::move(responder))](auto newest) {
      if (!newest) return shared->send(refusal(newest.error()));
      std::optional<Json> out;
      if (*newest) out = show(printable(id, 400), **newest);
      if (!out) return shared->send(detail(404, fmt::format("Task {} not found", id)));
      shared->send(net::json_response(*out));
    });
  }

  service::TaskService& service_;
  const service::Callers callers_;
  const Options options_;
  const std::chrono::steady_clock::time_point began_;
};

}  // namespace

void add_routes(net::Router& router, service::TaskService& service, service::Callers callers,
                Options options) {
  const auto routes =
      std::make_shared<const Routes>(service, std::move(callers), std::move(options));
  const auto add = [&](const char* method, const char* path, auto answer) {
    router.add(method, path, [routes, answer](const net::Request& request, net::Responder to) {
      answer(*routes, request, std::move(to));
    });
  };
  using R = const Routes&;
  using Q = const net::Request&;
  add("POST", "/evaluate", [](R r, Q q, net::Responder to) { r.evaluate_one(q, std::move(to)); });
  add("POST", "/evaluate/batch",
      [](R r, Q q, net::Responder to) { r.evaluate_batch(q, std::move(to)); });
  add("POST", "/workflow/submit",
      [](R r, Q q, net::Responder to) { r.submit_workflow(q, std::move(to)); });
  add("POST", "/debug/validate", [](R r, Q q, net::Responder to) { r.validate(q, std::move(to)); });
  add("GET", "/status/{id}", [](R r, Q q, net::Responder to) { r.status(q, std::move(to)); });
  add("GET", "/results/{id}",
      [](R r, Q q, net::Responder to) { r.results(q, std::move(to), false); });
  add("GET", "/workflow/results/{id}",
      [](R r, Q q, net::Responder to) { r.results(q, std::move(to), true); });
  add("DELETE", "/tasks/{id}", [](R r, Q q, net::Responder to) { r.cancel(q, std::move(to)); });
  add("GET", "/health", [](R r, Q, net::Responder to) { r.health(std::move(to)); });
  add("GET", "/queue/status", [](R r, Q, net::Responder to) { r.queue(std::move(to)); });
  add("GET", "/workers/status", [](R r, Q, net::Responder to) { r.workers(std::move(to)); });
  // Its workers take tasks from Redis. A refused heartbeat makes one of them stop.
  for (const char* path : {"/worker/register", "/worker/unregister", "/worker/heartbeat",
                           "/worker/evict_from_lb", "/node/allocate"})
    add("POST", path, [](R, Q, net::Responder to) {
      to.send(detail(409,
                     "KernelGYM's workers cannot take tasks of this server: start kernelwright "
                     "worker --server URL"));
    });
  // Nothing is kept by a code's hash: a failure of ours is tried again with its task.
  add("GET", "/monitoring/problematic-codes", [](R, Q, net::Responder to) {
    to.send(net::json_response({{"problematic_codes", Json::array()}, {"total", 0}}));
  });
  add("GET", "/monitoring/retry-queue", [](R, Q, net::Responder to) {
    to.send(net::json_response({{"retry_queue", Json::array()}, {"total", 0}}));
  });
  add("GET", "/monitoring/worker-health",
      [](R r, Q, net::Responder to) { r.workers(std::move(to)); });
  add("POST", "/monitoring/clear-error-history/{hash}",
      [](R, Q, net::Responder to) { to.send(detail(404, "no errors are kept by a code's hash")); });
}

net::Handler metrics_handler(service::TaskService& service, Options options) {
  return [&service, options = std::move(options)](const net::Request&, net::Responder responder) {
    service.counts([options, shared = share(std::move(responder))](auto counts) {
      if (!counts) return shared->send(refusal(counts.error()));
      shared->send(net::json_response(
          {{"timestamp", options.timestamp()},
           {"performance_metrics", {{"submitted", counts->submitted}, {"completed", counts->done}}},
           {"resource_metrics", Json::object()},
           {"queue_metrics", {{"pending", counts->waiting}, {"processing", counts->leased}}},
           {"error_metrics",
            {{"failed", counts->failed},
             {"dead", counts->dead},
             {"cancelled", counts->cancelled},
             {"lost_workers", counts->lost_workers},
             {"retries", counts->retries}}}}));
    });
  };
}

}  // namespace kw::service::kernelgym
