// Forwarder: hands requests on to another server, and its answers back as they come.
//
// Theory of operation: one io thread owns all calls, each with a connection of its own, so that a
// client that waits costs no thread. A call ends when its answer is whole, when its client leaves,
// when the connection breaks, or when another server is named. What fails before the answer's first
// byte is answered with 503 and Retry-After; an answer that breaks off later is cut, so that the
// client sees that it is not whole. No request is sent twice, but an idempotent one for which a
// kept connection turns out to be closed.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_message.h"
#include "net/metrics.h"
#include "net/responder.h"

namespace kw::net {

struct ForwarderOptions {
  std::chrono::milliseconds connect_timeout{5000};  // name, TCP and TLS, together
  MetricRegistry* metrics = nullptr;                // must outlive it; nullptr: not counted
};

// Thread-safe.
class Forwarder {
 public:
  explicit Forwarder(ForwarderOptions options = {});
  ~Forwarder();  // as forward_nowhere(); may wait for a name look-up that hangs
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Requests go to the server of this URL, which has no path; those under way to another one end.
  // certificate: PEM, to be trusted for this server alone; empty: as for a Client. kInvalidArgument
  // changes nothing.
  Status forward_to(const std::string& url, const std::string& certificate);
  // Requests, and those under way, are answered with 503 and `why`.
  void forward_nowhere(const std::string& why);

  // Returns at once.
  void forward(Request request, Responder responder);
  // adapt: changes an answer that is no stream before it is sent, also one of the Forwarder's own;
  // on the io thread.
  void forward(Request request, Responder responder, std::function<void(Response&)> adapt);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::net
