// The HTTP routes of kernelwright serve over a TaskService. docs/service.md has the table.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "net/metrics.h"
#include "net/router.h"
#include "service/task_service.h"
#include "service/tokens.h"

namespace kw::service {

inline constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20U;

// The callers' identities, and a record of what was done. Any thread.
struct Callers {
  std::function<Result<Identity>(const net::Request&)> identify = [](const net::Request&) {
    return Result<Identity>(Identity{});
  };
  std::function<void(const Identity&, std::string_view action, const Json& details)> audit =
      [](const Identity&, std::string_view, const Json&) {};
};

// 401 for one who is not known, 403 for one who may not do this; nothing for /healthz. For
// net::ServerOptions::gate.
std::optional<net::Response> refuse_caller(const Callers& callers, const net::Request& request);

// Names of submissions and groups are a tenant's own.
std::string own_name(const Identity& who, const std::string& name);
// Makes a submission the caller's: owner, tenant, names, quota and weight.
void submit_as(const Identity& who, Submission& submission);

// GET /metrics is KernelGYM's too: its clients get JSON.
bool wants_json_metrics(const net::Request& request);

// Service and metrics must outlive the server. json_metrics: answers GET /metrics for those who
// accept application/json; empty: they get the same text as others.
net::Router task_routes(TaskService& service, net::MetricRegistry& metrics, Callers callers = {},
                        net::Handler json_metrics = {});

}  // namespace kw::service
