#include "kernelwright/service/standby.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "base/json.h"
#include "kernelwright/service/renewed_certificate.h"
#include "net/forwarder.h"
#include "net/replies.h"
#include "net/url.h"
#include "os/file.h"
#include "os/pause.h"
#include "service/address_file.h"
#include "service/task_api.h"

namespace kw::front {
namespace {

using std::chrono::milliseconds;

constexpr const char* kPasswordVariable = "KERNELWRIGHT_REDIS_PASSWORD";
constexpr int kLooks = 5;                      // at the lead, in a lease
constexpr std::chrono::seconds kLastWords{1};  // for answers under way when this server leads

// A server's name for the one that it waits for, which others may change meanwhile. Thread-safe.
class Leader {
 public:
  void set(std::string url) {
    const std::lock_guard lock(mutex_);
    url_ = std::move(url);
  }
  std::string get() const {
    const std::lock_guard lock(mutex_);
    return url_;
  }

 private:
  mutable std::mutex mutex_;
  std::string url_;
};

// Whether the certificate of the address file is this leader's: it has signed itself then.
std::string certificate_of(const std::string& leader, const PublicAddress& address) {
  if (address.file.empty()) return "";
  const auto text = os::read_file(address.file);
  if (!text) return "";
  const auto found = service::address_from_text(*text);
  return found && found->url == leader ? found->certificate : "";
}

// Directs the calls to the leader, or says why they cannot go there.
void direct(net::Forwarder& forwarder, const std::string& leader, const std::string& certificate,
            const std::string& own_url, bool allow_plaintext) {
  if (leader == own_url)
    return forwarder.forward_nowhere(
        "this server led until it was started anew, and leads again soon");
  const auto url = net::parse_url(leader);
  if (url && url->scheme == "http" && !net::is_loopback_host(url->host) && !allow_plaintext)
    return forwarder.forward_nowhere(
        fmt::format("{} leads, and what goes there could be read on the way", leader));
  const Status aimed = forwarder.forward_to(leader, certificate);
  if (!aimed)
    forwarder.forward_nowhere(fmt::format("{} leads, and is no server to forward to: {}", leader,
                                          aimed.error().message()));
}

// The leader's health, and for whom this server waits. 503 where the leader does not answer.
void add_health(net::Router& router, net::Forwarder& forwarder, const Leader& leader) {
  router.add("GET", "/healthz", [&](net::Request request, net::Responder responder) {
    forwarder.forward(std::move(request), std::move(responder), [&leader](net::Response& answer) {
      auto health = parse_json(answer.body);
      if (!health || !health->is_object()) return;
      const std::string url = leader.get();
      (*health)["waits_for"] = url.empty() ? Json(nullptr) : Json(url);
      answer.body = health->dump();
    });
  });
}

net::Router routes_of(net::Forwarder& forwarder, const Leader& leader,
                      const net::MetricRegistry& metrics) {
  net::Router out;
  const auto forward = [&forwarder](net::Request request, net::Responder responder) {
    forwarder.forward(std::move(request), std::move(responder));
  };
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
    for (const char* pattern : {"/", "/{path...}"})
      out.add(method, pattern, forward, {.max_body_bytes = service::kMaxRequestBytes});
  add_health(out, forwarder, leader);
  // Those of this process; KernelGYM's are about the queue.
  out.add("GET", "/metrics", [&metrics, forward](net::Request request, net::Responder responder) {
    if (service::wants_json_metrics(request))
      return forward(std::move(request), std::move(responder));
    net::Response own = net::text_response(metrics.text());
    own.headers.set("Content-Type", net::kMetricsContentType);
    responder.send(std::move(own));
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
  net::MetricRegistry metrics;
  Leader leader;
  net::Forwarder forwarder({.metrics = &metrics});
  net::ServerOptions waiting = server;
  waiting.metrics = &metrics;
  waiting.handler_threads = 0;  // nothing waits
  KW_TRY(auto listening,
         net::Server::start(std::move(waiting), routes_of(forwarder, leader, metrics)));
  const RenewedByHangup renewed(services, *listening, server.tls.has_value());
  server.port = listening->port();
  redis.url = public_url(address, *listening);
  std::string said, trusted;
  while (!services.stop.stop_requested()) {
    auto lead = service::try_to_lead(redis);
    const bool may_come = !lead && lead.error().code() == ErrorCode::kUnavailable;
    if (!lead && !may_come) return tl::unexpected(std::move(lead).error());
    if (lead && lead->storage) {
      forwarder.forward_nowhere("this server is about to lead");
      listening->stop(kLastWords);
      return std::move(lead->storage);
    }
    const std::string why = lead ? lead->leader + " leads" : lead.error().message();
    if (why != said) services.console.err(fmt::format("waiting for the lead: {}\n", why));
    said = why;
    // While Redis is away the last leader may lead still, and its callers wait.
    if (lead) {
      const std::string certificate = certificate_of(lead->leader, address);
      if (lead->leader != leader.get() || certificate != trusted)
        direct(forwarder, lead->leader, certificate, redis.url, server.allow_plaintext);
      leader.set(lead->leader);
      trusted = certificate;
    }
    (void)os::pause(redis.lease / kLooks, services.stop);
  }
  forwarder.forward_nowhere("this server ends");
  listening->stop(kLastWords);
  return nullptr;
}

}  // namespace kw::front
