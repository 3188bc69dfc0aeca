#include "kernelwright/service/serve.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kernelwright/awaited_error.h"
#include "kernelwright/service/dashboard.h"
#include "kernelwright/timestamp.h"
#include "net/server.h"
#include "service/audit_log.h"
#include "service/kernelgym/kernelgym_api.h"
#include "service/sqlite_storage.h"
#include "service/task_api.h"
#include "service/tokens.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kGrace{1};  // for answers under way; clients ask again

Result<net::ServerOptions> server_options(const ServeCommand& command,
                                          const service::Callers& callers,
                                          net::MetricRegistry& metrics) {
  net::ServerOptions out;
  if (!command.host.starts_with("127.") && command.host != "::1")
    return fail(ErrorCode::kInvalidArgument,
                "--host: {} is no loopback address: without TLS, which serve does not have yet, "
                "other machines come through ssh -L or a proxy",
                printable(command.host, 100));
  out.address = command.host;
  out.port = static_cast<std::uint16_t>(command.port);
  out.gate = [callers](const net::Request& request) {
    return is_of_dashboard(request) ? std::nullopt : service::refuse_caller(callers, request);
  };
  out.metrics = &metrics;
  // Every client and worker is on this machine.
  out.limits.connections_per_address = 0;
  out.limits.requests_per_connection = 0;
  // KernelGYM's clients wait for a verdict with one call.
  out.limits.request_deadline = std::chrono::hours(1);
  return out;
}

// With tokens, what is asked for is written down beside the tasks.
Result<service::Callers> callers_of(const ServeCommand& command, const Services& services) {
  service::Callers out;
  if (command.tokens.empty()) return out;
  KW_TRY(service::Tokens read, service::Tokens::from_file(command.tokens));
  const auto tokens = std::make_shared<const service::Tokens>(std::move(read));
  out.identify = [tokens, now = services.wall_time](const net::Request& request) {
    return tokens->identity(request, now());
  };
  KW_TRY(auto log, service::AuditLog::open(fs::path(command.data) / "audit.jsonl"));
  out.audit = [log = std::shared_ptr<service::AuditLog>(std::move(log)), now = services.wall_time](
                  const service::Identity& who, std::string_view action, const Json& details) {
    log->add(timestamp(now()), who, action, details);
  };
  return out;
}

}  // namespace

Result<int> run_serve(const ServeCommand& command, const Services& services) {
  net::MetricRegistry metrics;
  KW_TRY(auto storage, service::open_sqlite_storage(command.data));
  KW_TRY(const service::Callers callers, callers_of(command, services));
  KW_TRY(net::ServerOptions options, server_options(command, callers, metrics));
  AwaitedError broken;
  service::TaskServiceOptions task_options;
  task_options.tasks.lease =
      std::chrono::milliseconds(static_cast<std::int64_t>(command.lease_seconds * 1000));
  task_options.now = services.now;
  task_options.on_broken = [&](const Error& why) { broken.set(why); };
  KW_TRY(auto tasks, service::TaskService::start(std::move(storage), std::move(task_options)));
  const service::kernelgym::Options gym_options{
      .timestamp = [&services] { return timestamp(services.wall_time()); },
      .ending = services.stop};
  net::Router router = service::task_routes(
      *tasks, metrics, callers, service::kernelgym::metrics_handler(*tasks, gym_options));
  service::kernelgym::add_routes(router, *tasks, callers, gym_options);
  add_dashboard(router, gym_options.timestamp);
  KW_TRY(auto server, net::Server::start(std::move(options), std::move(router)));
  services.console.err(fmt::format("serving tasks of {}\n", command.data));
  KW_TRY_STATUS(services.console.out(server->origin() + "\n"));
  const std::optional<Error> why = broken.wait(services.stop);
  server->stop(kGrace);
  server.reset();
  if (!why) return 0;
  return tl::unexpected(*why);
}

}  // namespace kw::front
