#include "kernelwright/service/serve.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <malloc.h>
#include <sys/resource.h>

#include "base/text.h"
#include "kernelwright/awaited_error.h"
#include "kernelwright/public_address.h"
#include "kernelwright/service/dashboard.h"
#include "kernelwright/service/renewed_certificate.h"
#include "kernelwright/service/standby.h"
#include "kernelwright/timestamp.h"
#include "net/server.h"
#include "net/url.h"
#include "service/audit_log.h"
#include "service/kernelgym/kernelgym_api.h"
#include "service/openapi.h"
#include "service/sqlite_storage.h"
#include "service/task_api.h"
#include "service/tokens.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kGrace{1};  // for answers under way; clients ask again

// Connections of one address, when others than this machine's come: a node of many workers has
// enough, and a stranger cannot take all.
constexpr std::size_t kMaxConnectionsOfAddress = 1024;

PublicAddress public_address(const ServeCommand& command) {
  return {command.host, command.public_name, command.address_file};
}

Status check_exposure(const ServeCommand& command) {
  const bool has_files = !command.tls_certificate.empty();
  const bool has_tls = has_files || command.self_signed;
  if (has_files == command.tls_key.empty())
    return fail(ErrorCode::kInvalidArgument, "--tls-certificate and --tls-key go together");
  if (has_files && command.self_signed)
    return fail(ErrorCode::kInvalidArgument,
                "--self-signed and --tls-certificate exclude each "
                "other");
  if (command.self_signed && command.address_file.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--self-signed needs --address-file: clients get the certificate from there");
  if (net::is_loopback_host(command.host)) return {};
  const std::string host = printable(command.host, 100);
  if (command.tokens.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--host: {} can be reached from other machines: give --tokens FILE too", host);
  if (!has_tls && !command.allow_plaintext)
    return fail(ErrorCode::kInvalidArgument,
                "--host: {} can be reached from other machines: give --tls-certificate and "
                "--tls-key, --self-signed, or --allow-plaintext when a proxy adds TLS",
                host);
  return {};
}

Result<net::ServerOptions> server_options(const ServeCommand& command,
                                          const service::Callers& callers,
                                          net::MetricRegistry& metrics) {
  net::ServerOptions out;
  out.address = command.host;
  out.port = static_cast<std::uint16_t>(command.port);
  out.gate = [callers](const net::Request& request) {
    return is_of_dashboard(request) ? std::nullopt : service::refuse_caller(callers, request);
  };
  out.metrics = &metrics;
  out.allow_plaintext = command.allow_plaintext;
  if (!command.tls_key.empty()) out.tls = net::TlsFiles{command.tls_certificate, command.tls_key};
  if (command.self_signed) {
    KW_TRY(out.tls_text, own_certificate(public_address(command)));
  }
  out.limits.connections_per_address =
      net::is_loopback_host(command.host) ? 0 : kMaxConnectionsOfAddress;
  out.limits.connections = static_cast<std::size_t>(command.most_connections);
  out.limits.requests_per_connection = 0;
  // KernelGYM's clients wait for a verdict with one call.
  out.limits.request_deadline = std::chrono::hours(1);
  return out;
}

// Beside those of connections the server needs some files of its own.
void raise_open_files(int connections) {
  constexpr rlim_t kOwn = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOwn;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// When a lead is over, the memory of its tasks is free, but each thread's heap keeps what the
// thread had: a server that leads again and again would grow.
void give_back_freed_memory() {
  (void)::malloc_trim(0);
}

Status make_data_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_errno(error.value(), "cannot make the folder " + folder.string());
  return {};
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

using OnLost = std::function<void(const Error&)>;

// The tasks' storage. With --store it comes when this server leads; nullptr when it was stopped
// before. server: gets the port.
Result<std::unique_ptr<service::TaskStorage>> open_storage(const ServeCommand& command,
                                                           net::ServerOptions& server,
                                                           const OnLost& on_lost,
                                                           const Services& services) {
  if (command.store.empty()) return service::open_sqlite_storage(command.data);
  KW_TRY(service::RedisOptions redis, redis_options(command, services));
  redis.on_lost = on_lost;
  return wait_for_lead(std::move(redis), server, public_address(command), services);
}

// Until it is stopped, or an error. kAlreadyExists: another server leads.
Status serve_once(const ServeCommand& command, const service::Callers& callers,
                  const Services& services) {
  net::MetricRegistry metrics;
  AwaitedError broken;
  KW_TRY(net::ServerOptions options, server_options(command, callers, metrics));
  std::atomic<bool> has_lost_lead = false;
  const OnLost on_lost = [&](const Error& why) {
    has_lost_lead = true;
    broken.set(why);
  };
  KW_TRY(auto storage, open_storage(command, options, on_lost, services));
  if (!storage) return {};
  const std::optional<net::TlsText> self_signed = options.tls_text;
  service::TaskServiceOptions task_options;
  task_options.tasks.lease =
      std::chrono::milliseconds(static_cast<std::int64_t>(command.lease_seconds * 1000));
  task_options.tasks.unserved =
      std::chrono::milliseconds(static_cast<std::int64_t>(command.unserved_seconds * 1000));
  task_options.now = services.now;
  task_options.on_broken = [&](const Error& why) { broken.set(why); };
  KW_TRY(auto tasks, service::TaskService::start(std::move(storage), std::move(task_options)));
  give_back_freed_memory();  // what the stored form of the tasks took
  const service::kernelgym::Options gym_options{
      .timestamp = [&services] { return timestamp(services.wall_time()); },
      .ending = services.stop};
  net::Router router = service::task_routes(
      *tasks, metrics, callers, service::kernelgym::metrics_handler(*tasks, gym_options));
  service::kernelgym::add_routes(router, *tasks, callers, gym_options);
  service::add_openapi(router);
  add_dashboard(router, gym_options.timestamp);
  KW_TRY(auto server, net::Server::start(std::move(options), std::move(router)));
  KW_TRY_STATUS(write_address_file(public_address(command), *server, self_signed));
  std::optional<RenewedByHangup> renewed;
  renewed.emplace(services, *server, !command.tls_key.empty());
  services.console.err(
      fmt::format("serving tasks of {}\n", command.store.empty() ? command.data : command.store));
  KW_TRY_STATUS(services.console.out(server->origin() + "\n"));
  const std::optional<Error> why = broken.wait(services.stop);
  renewed.reset();
  server->stop(kGrace);
  server.reset();
  if (!why) return {};
  if (has_lost_lead) return fail(ErrorCode::kAlreadyExists, why->message());
  return tl::unexpected(*why);
}

}  // namespace

Result<int> run_serve(const ServeCommand& command, const Services& services) {
  KW_TRY_STATUS(check_exposure(command));
  KW_TRY_STATUS(make_data_folder(command.data));
  raise_open_files(command.most_connections);
  KW_TRY(const service::Callers callers, callers_of(command, services));
  while (true) {
    const Status served = serve_once(command, callers, services);
    if (served) return 0;
    give_back_freed_memory();
    const bool is_led =
        !command.store.empty() && served.error().code() == ErrorCode::kAlreadyExists;
    if (!is_led || services.stop.stop_requested()) return tl::unexpected(served.error());
    services.console.err(fmt::format("{}\n", served.error().message()));
  }
}

}  // namespace kw::front
