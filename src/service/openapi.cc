#include "service/openapi.h"

#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "gym/version.h"
#include "net/replies.h"

namespace kw::service {
namespace {

// The schemas of bodies and answers, by name.
constexpr const char* kSchemas = R"json({
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object", "required": ["message", "type"],
    "properties": {"message": {"type": "string"}, "type": {"type": "string"}, "code": {"type": ["string", "null"]}}}}},
  "Isolation": {"enum": ["none", "basic", "namespaces", "full"]},
  "NewTask": {"type": "object", "required": ["request"], "additionalProperties": false, "properties": {
    "request": {"type": "object", "description": "A judgement (docs/formats/request.md), or an object with a kind"},
    "submission": {"type": "string", "maxLength": 200}, "timeout_seconds": {"type": "number", "minimum": 0, "maximum": 2592000},
    "isolation": {"$ref": "#/components/schemas/Isolation"}}},
  "NewTasks": {"type": "object", "required": ["tasks"], "additionalProperties": false, "properties": {
    "tasks": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"$ref": "#/components/schemas/NewTask"}},
    "group": {"type": "string", "maxLength": 200}}},
  "Ids": {"type": "object", "required": ["tasks"], "properties": {"tasks": {"type": "array", "items":
    {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}}},
  "Task": {"type": "object", "required": ["id", "state", "is_final", "attempts"], "properties": {
    "id": {"type": "string"}, "state": {"enum": ["waiting", "leased", "done", "failed", "dead", "cancelled", "expired"]},
    "is_final": {"type": "boolean"}, "attempts": {"type": "integer"}, "position": {"type": "integer"},
    "estimated_start_seconds": {"type": "number"}, "waits_for": {"type": "string"}, "retry_in_seconds": {"type": "number"}, "is_for_other_workers": {"type": "boolean"}, "verdict": {"type": "object"},
    "check": {"type": "object"}, "graph": {"type": "string"}, "signature": {"type": "object"}, "capabilities": {"type": "object"},
    "error": {"type": "object"}}},
  "Request": {"type": "object", "required": ["request"], "properties": {"request": {"type": "object"}}},
  "Problem": {"type": "object", "required": ["problem"], "additionalProperties": false, "properties": {"problem": {"type": "object"}}},
  "Baseline": {"type": "object", "required": ["baseline"], "additionalProperties": false, "properties": {"baseline": {"type": "object"}}},
  "Hash": {"type": "object", "required": ["hash"], "properties": {"hash": {"type": "string"}}},
  "Group": {"type": "object", "required": ["open", "next", "ended"], "properties": {"open": {"type": "integer"}, "next": {"type": "string"},
    "ended": {"type": "array", "items": {"$ref": "#/components/schemas/Task"}}}},
  "Shares": {"type": "array", "items": {"type": "object", "required": ["name", "waiting", "leased"], "properties": {
    "name": {"type": "string"}, "waiting": {"type": "integer"}, "leased": {"type": "integer"}}}},
  "Queue": {"type": "object", "required": ["waiting", "leased", "tenants", "workers"], "properties": {"waiting": {"type": "integer"},
    "leased": {"type": "integer"}, "tenants": {"$ref": "#/components/schemas/Shares"}, "workers": {"$ref": "#/components/schemas/Shares"}}},
  "Overview": {"type": "object", "required": ["next", "in_all", "waiting", "leased", "tenants", "outcomes", "ends", "ended"]},
  "Abilities": {"type": "object", "required": ["targets", "isolation"], "additionalProperties": false, "properties": {
    "targets": {"type": "object", "minProperties": 1, "additionalProperties": false, "properties": {
      "cpu": {"type": "array", "items": {"type": "string"}}, "cuda": {"type": "array", "items": {"type": "string"}}}},
    "isolation": {"$ref": "#/components/schemas/Isolation"}}},
  "LeaseCall": {"type": "object", "required": ["gym_version"], "additionalProperties": false, "properties": {
    "worker": {"type": "string", "maxLength": 200}, "name": {"type": "string", "maxLength": 200}, "gym_version": {"type": "integer"},
    "problem": {"type": "string", "maxLength": 200}, "most": {"type": "integer", "minimum": 1, "maximum": 1000},
    "wait_seconds": {"type": "number", "minimum": 0, "maximum": 30}, "can": {"$ref": "#/components/schemas/Abilities"},
    "unfit": {"type": "string"}}},
  "Leases": {"type": "object", "required": ["leases"], "properties": {"leases": {"type": "array", "items": {"type": "object",
    "required": ["task", "epoch", "seconds", "request"], "properties": {"task": {"type": "string"}, "epoch": {"type": "integer"},
    "seconds": {"type": "number"}, "request": {"type": "object"}}}}}},
  "Requests": {"type": "object", "required": ["requests"], "properties": {"requests": {"type": "array", "items": {"type": "object"}}}},
  "Epoch": {"type": "object", "required": ["epoch"], "additionalProperties": false, "properties": {"epoch": {"type": "integer"}}},
  "Answer": {"type": "object", "required": ["epoch"], "properties": {"epoch": {"type": "integer"}, "verdict": {"type": "object"},
    "check": {"type": "object"}, "graph": {"type": "string"}, "signature": {"type": "object"}, "capabilities": {"type": "object"}}},
  "Failure": {"type": "object", "required": ["epoch", "code", "message"], "additionalProperties": false, "properties": {
    "epoch": {"type": "integer"}, "code": {"type": "string"}, "message": {"type": "string"}}},
  "GoOn": {"type": "object", "required": ["go_on", "seconds"], "properties": {"go_on": {"type": "boolean"}, "seconds": {"type": "number"}}},
  "Reports": {"type": "object", "required": ["reports"], "additionalProperties": false, "properties": {"reports": {"type": "array",
    "maxItems": 1000, "items": {"type": "object", "required": ["task", "report", "epoch"], "properties": {"task": {"type": "string"},
    "report": {"enum": ["renew", "complete", "fail", "release", "lost"]}, "epoch": {"type": "integer"}}}}}},
  "Reported": {"type": "object", "required": ["reports"], "properties": {"reports": {"type": "array", "items": {"type": "object"}}}},
  "Health": {"type": "object", "required": ["status", "gym_version"], "properties": {"status": {"type": "string"},
    "gym_version": {"type": "integer"}, "waiting": {"type": "integer"}, "leased": {"type": "integer"}, "waits_for": {"type": "string"}}}
})json";

struct Described {
  std::string_view method, path, summary;
  const char *body, *answer;  // schemas; body: nullptr for none; answer: nullptr for text
};
constexpr std::array<Described, 23> kDescribed = {{
    {"POST", "/v1/tasks", "Submit tasks, all or none", "NewTasks", "Ids"},
    {"GET", "/v1/tasks/{id}", "A task's state; waits for its end", nullptr, "Task"},
    {"GET", "/v1/tasks/{id}/request", "What a task asks for", nullptr, "Request"},
    {"DELETE", "/v1/tasks/{id}", "Cancel a task", nullptr, "Task"},
    {"POST", "/v1/problems", "Make a problem known", "Problem", "Hash"},
    {"GET", "/v1/problems/{hash}", "A problem that is known", nullptr, "Problem"},
    {"POST", "/v1/baselines", "Make a baseline candidate known", "Baseline", "Hash"},
    {"GET", "/v1/baselines/{hash}", "A baseline that is known", nullptr, "Baseline"},
    {"GET", "/v1/groups/{name}", "The tasks of a group that have ended", nullptr, "Group"},
    {"GET", "/v1/groups/{name}/events", "The same as server-sent events", nullptr, nullptr},
    {"POST", "/v1/leases", "Take tasks", "LeaseCall", "Leases"},
    {"POST", "/v1/compiles", "What waits and can be compiled ahead", "LeaseCall", "Requests"},
    {"POST", "/v1/leases/{id}/renew", "Go on with a lease", "Epoch", "GoOn"},
    {"POST", "/v1/leases/{id}/complete", "Answer a task", "Answer", "GoOn"},
    {"POST", "/v1/leases/{id}/fail", "A failure of the infrastructure", "Failure", "GoOn"},
    {"POST", "/v1/leases/{id}/release", "Give a task back", "Epoch", "GoOn"},
    {"POST", "/v1/leases/{id}/lost", "The worker has died", "Epoch", "GoOn"},
    {"POST", "/v1/reports", "Several of these at once", "Reports", "Reported"},
    {"GET", "/v1/overview", "How things stand, and what has ended", nullptr, "Overview"},
    {"GET", "/v1/queue", "Tenants and workers", nullptr, "Queue"},
    {"GET", "/healthz", "Whether tasks can be stored", nullptr, "Health"},
    {"GET", "/metrics", "Prometheus's text, or KernelGYM's JSON", nullptr, nullptr},
    {"GET", "/openapi.json", "This document", nullptr, nullptr},
}};

const Described* description_of(std::string_view method, std::string_view path) {
  for (const Described& each : kDescribed)
    if (each.method == method && each.path == path) return &each;
  return nullptr;
}

Json reference(const char* schema) {
  return {{"schema", {{"$ref", fmt::format("#/components/schemas/{}", schema)}}}};
}

Json query_parameter(const char* name, Json schema) {
  return {{"name", name}, {"in", "query"}, {"required", false}, {"schema", std::move(schema)}};
}

// Describes those of the path, and of calls that wait or page.
Json parameters_of(const net::Route& route) {
  Json out = Json::array();
  for (const std::string& segment : route.segments)
    if (segment.starts_with('{') && segment.ends_with('}'))
      out.push_back({{"name", segment.substr(1, segment.size() - 2)},
                     {"in", "path"},
                     {"required", true},
                     {"schema", {{"type", "string"}, {"minLength", 1}}}});
  if (route.method != "GET") return out;
  const Json wait = {{"type", "number"}, {"minimum", 0}, {"maximum", 30}};
  const Json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}};
  const bool is_group = route.pattern.starts_with("/v1/groups/{name}");
  if (is_group || route.pattern == "/v1/tasks/{id}") out.push_back(query_parameter("wait", wait));
  if (is_group) out.push_back(query_parameter("least", count));
  if (is_group) out.push_back(query_parameter("most", count));
  if (is_group || route.pattern == "/v1/overview")
    out.push_back(query_parameter("after", {{"type", "string"}}));
  return out;
}

Json responses_of(const net::Route& route, const Described* described) {
  Json ok = {{"description", "done"}};
  if (described != nullptr && described->answer != nullptr)
    ok["content"]["application/json"] = reference(described->answer);
  const bool is_ours = route.pattern.starts_with("/v1/");
  Json failed = {{"description", "refused, and why"}};
  if (is_ours) failed["content"]["application/json"] = reference("Error");
  return {{"200", std::move(ok)}, {"default", std::move(failed)}};
}

Json operation_of(const net::Route& route) {
  const Described* described = description_of(route.method, route.pattern);
  Json out = Json::object();
  out["summary"] = described != nullptr ? std::string(described->summary)
                                        : "KernelGYM's API, see docs/kernelgym.md";
  out["tags"] = Json::array({described != nullptr ? "kernelwright" : "kernelgym"});
  if (Json parameters = parameters_of(route); !parameters.empty())
    out["parameters"] = std::move(parameters);
  if (described != nullptr && described->body != nullptr) {
    out["requestBody"] = {{"required", true}};
    out["requestBody"]["content"]["application/json"] = reference(described->body);
  }
  out["responses"] = responses_of(route, described);
  return out;
}

std::string lower_case(const std::string& text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

bool is_described(std::string_view method, std::string_view path) {
  return description_of(method, path) != nullptr;
}

Json openapi_document(const std::vector<net::Route>& routes) {
  Json paths = Json::object();
  for (const net::Route& route : routes)
    if (!route.pattern.ends_with("...}"))
      paths[route.pattern][lower_case(route.method)] = operation_of(route);
  auto schemas = parse_json(kSchemas);
  KW_CHECK(schemas.has_value());
  Json out = {{"openapi", "3.1.0"},
              {"info",
               {{"title", "kernelwright serve"},
                {"version", std::to_string(gym::kGymVersion)},
                {"description", "docs/service.md and docs/kernelgym.md say what the calls mean."}}},
              {"paths", std::move(paths)}};
  out["components"] = {{"schemas", std::move(*schemas)},
                       {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}};
  out["security"] = Json::array({Json::object(), {{"token", Json::array()}}});
  return out;
}

void add_openapi(net::Router& router) {
  const auto text = std::make_shared<std::string>();
  router.add("GET", "/openapi.json", [text](const net::Request&, net::Responder responder) {
    net::Response out;
    out.headers.add("Content-Type", "application/json");
    out.body = *text;
    responder.send(std::move(out));
  });
  *text = openapi_document(router.routes()).dump();
}

}  // namespace kw::service
