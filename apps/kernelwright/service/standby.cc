#include "kernelwright/service/standby.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "net/replies.h"
#include "net/url.h"
#include "os/pause.h"

namespace kw::front {
namespace {

using std::chrono::milliseconds;

constexpr const char* kPasswordVariable = "KERNELWRIGHT_REDIS_PASSWORD";
constexpr std::chrono::seconds kRetryAfter{1};
constexpr int kLooks = 5;  // at the lead, in a lease

// It says what those who ask are told. Thread-safe.
class Answer {
 public:
  void set(std::string leader) {
    const std::lock_guard lock(mutex_);
    leader_ = std::move(leader);
  }
  net::Response response() const {
    const std::lock_guard lock(mutex_);
    const std::string where = leader_.empty() ? "no server leads yet" : leader_ + " leads";
    return net::retry_later(kRetryAfter, "this server waits for the lead: " + where, 503);
  }

 private:
  mutable std::mutex mutex_;
  std::string leader_;
};

net::Router routes_of(const Answer& answer) {
  net::Router out;
  for (const char* method : {"GET", "POST", "PUT", "DELETE"})
    for (const char* pattern : {"/", "/{path...}"})
      out.add(method, pattern, [&answer](const net::Request&, net::Responder responder) {
        responder.send(answer.response());
      });
  return out;
}

}  // namespace

Result<service::RedisOptions> redis_options(const ServeCommand& command, const Services& services) {
  service::RedisOptions out;
  auto address = service::redis_address(command.store);
  if (!address) return tl::unexpected(std::move(address).error().with_context("--store"));
  out.address = std::move(*address);
  if (!net::is_loopback_host(out.address.host) && !command.allow_plaintext_store)
    return fail(ErrorCode::kInvalidArgument,
                "--store: what goes to {} can be read on the way: give --allow-plaintext-store "
                "where the network is yours, or a tunnel on this machine",
                out.address.host);
  const char* password = std::getenv(kPasswordVariable);  // NOLINT(concurrency-mt-unsafe)
  if (password != nullptr) out.password = password;
  out.lease = milliseconds(static_cast<std::int64_t>(command.leader_lease_seconds * 1000));
  out.accept_everysec = command.accept_everysec;
  out.stop = services.stop;
  return out;
}

Result<std::unique_ptr<service::TaskStorage>> wait_for_lead(service::RedisOptions redis,
                                                            net::ServerOptions& server,
                                                            const PublicAddress& address,
                                                            const Services& services) {
  Answer answer;
  net::ServerOptions waiting = server;
  waiting.metrics = nullptr;
  KW_TRY(auto listening, net::Server::start(std::move(waiting), routes_of(answer)));
  server.port = listening->port();
  redis.url = public_url(address, *listening);
  std::string said;
  while (!services.stop.stop_requested()) {
    auto lead = service::try_to_lead(redis);
    const bool may_come = !lead && lead.error().code() == ErrorCode::kUnavailable;
    if (!lead && !may_come) return tl::unexpected(std::move(lead).error());
    if (lead && lead->storage) return std::move(lead->storage);
    const std::string why = lead ? lead->leader + " leads" : lead.error().message();
    if (why != said) services.console.err(fmt::format("waiting for the lead: {}\n", why));
    said = why;
    answer.set(lead ? lead->leader : "");
    (void)os::pause(redis.lease / kLooks, services.stop);
  }
  return nullptr;
}

}  // namespace kw::front
