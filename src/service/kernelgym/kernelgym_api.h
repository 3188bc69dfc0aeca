// The HTTP routes of KernelGYM's server, over our tasks and workers. docs/kernelgym.md has the
// table.
#pragma once
#include "net/router.h"
#include "service/kernelgym/evaluations.h"
#include "service/task_api.h"
#include "service/task_service.h"

namespace kw::service::kernelgym {

// Adds all routes but / and /metrics, which are others' too. The service must outlive the server.
void add_routes(net::Router& router, service::TaskService& service, service::Callers callers,
                Options options);

// Answers GET /metrics in KernelGYM's form.
net::Handler metrics_handler(service::TaskService& service, Options options);

}  // namespace kw::service::kernelgym
