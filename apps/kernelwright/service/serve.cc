#include "kernelwright/service/serve.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "kernelwright/awaited_error.h"
#include "net/auth.h"
#include "net/server.h"
#include "service/sqlite_storage.h"
#include "service/task_api.h"

namespace kw::front {
namespace {

constexpr std::chrono::seconds kGrace{1};  // for answers under way; clients ask again

Result<net::ServerOptions> server_options(const ServeCommand& command,
                                          net::MetricRegistry& metrics) {
  net::ServerOptions out;
  if (!command.host.starts_with("127.") && command.host != "::1")
    return fail(ErrorCode::kInvalidArgument,
                "--host: {} is no loopback address: without TLS, which serve does not have yet, "
                "other machines come through ssh -L or a proxy",
                printable(command.host, 100));
  out.address = command.host;
  out.port = static_cast<std::uint16_t>(command.port);
  if (!command.tokens.empty()) {
    KW_TRY(net::ApiKeys keys, net::ApiKeys::from_file(command.tokens));
    out.gate = [keys =
                    std::move(keys)](const net::Request& request) -> std::optional<net::Response> {
      if (request.path == "/healthz") return std::nullopt;  // says nothing about the tasks
      return keys.refuse(request);
    };
  }
  out.metrics = &metrics;
  // Every client and worker is on this machine.
  out.limits.connections_per_address = 0;
  out.limits.requests_per_connection = 0;
  return out;
}

}  // namespace

Result<int> run_serve(const ServeCommand& command, const Services& services) {
  net::MetricRegistry metrics;
  KW_TRY(net::ServerOptions options, server_options(command, metrics));
  KW_TRY(auto storage, service::open_sqlite_storage(command.data));
  AwaitedError broken;
  service::TaskServiceOptions task_options;
  task_options.tasks.lease =
      std::chrono::milliseconds(static_cast<std::int64_t>(command.lease_seconds * 1000));
  task_options.now = services.now;
  task_options.on_broken = [&](const Error& why) { broken.set(why); };
  KW_TRY(auto tasks, service::TaskService::start(std::move(storage), std::move(task_options)));
  KW_TRY(auto server,
         net::Server::start(std::move(options), service::task_routes(*tasks, metrics)));
  services.console.err(fmt::format("serving tasks of {}\n", command.data));
  KW_TRY_STATUS(services.console.out(server->origin() + "\n"));
  const std::optional<Error> why = broken.wait(services.stop);
  server->stop(kGrace);
  server.reset();
  if (!why) return 0;
  return tl::unexpected(*why);
}

}  // namespace kw::front
